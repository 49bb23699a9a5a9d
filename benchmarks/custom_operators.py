"""The cost of custom operators in PyTorch: in Python against an autograd.Function by hand, in C++ against torch.relu.

    python benchmarks/custom_operators.py [--budget 60] [--seed 0]

One thread. Ratios are paired, ours / theirs; the upper end of the 95 % interval is held against the goal:
1.05 for Python (the third power through NumPy), 1.15 for C++ (ReLU of 64×1024, a plain loop and one with OpenMP).
Exits with 1 where a goal is missed: where the whole interval is beyond it.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import deep500 as d5
from deep500 import measure
from deep500.frameworks.pytorch import custom_op

PYTHON_GOAL, CPP_GOAL = 1.05, 1.15
RELU = """
template<typename T>
struct relu : deep500::CustomOperator {
    int64_t n;
    relu(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        #ifdef PARALLEL
        #pragma omp parallel for
        #endif
        for (int64_t i = 0; i < n; ++i) y[i] = x[i] > T(0) ? x[i] : T(0);
    }
    void backward(const T *dy, const T *x, const T *y, T *dx) {
        for (int64_t i = 0; i < n; ++i) dx[i] = x[i] > T(0) ? dy[i] : T(0);
    }
};
"""


class Cube(d5.CustomPythonOp):
    """The third power."""

    def forward(self, inputs: Any) -> Any:
        return inputs[0] * inputs[0] * inputs[0]

    def backward(self, grads: Any, fwd_inputs: Any, fwd_outputs: Any) -> Any:
        return grads[0] * 3 * fwd_inputs[0] * fwd_inputs[0]


class ByHand(torch.autograd.Function):
    """The same as PyTorch's tutorial writes it."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        array = x.detach().numpy()
        y = torch.from_numpy(array * array * array)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        x, _ = ctx.saved_tensors
        array = x.detach().numpy()
        return torch.from_numpy(grad.detach().numpy() * 3 * array * array)


def both(
    function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, dy: torch.Tensor
) -> Callable[[], Any]:
    return lambda: torch.autograd.grad(function(x), x, dy)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "relu.cpp"
        source.write_text(RELU)
        relu = custom_op(d5.compile_custom_cppop("relu", source))
        parallel = custom_op(
            d5.compile_custom_cppop("relu", source, definitions={"PARALLEL": 1})
        )
    cube, pairs = custom_op(Cube()), []
    for shape in [(4, 6), (64, 1024)]:
        x = torch.randn(shape, requires_grad=True)
        dy = torch.randn(shape)
        np.testing.assert_array_equal(cube(x).detach(), ByHand.apply(x).detach())
        pairs += [
            (
                f"Python {shape}, forward and backward",
                both(ByHand.apply, x, dy),
                both(cube, x, dy),
                PYTHON_GOAL,
            ),
            (
                f"Python {shape}, forward",
                lambda x=x: ByHand.apply(x),
                lambda x=x: cube(x),
                PYTHON_GOAL,
            ),
        ]
    np.testing.assert_array_equal(relu(x).detach(), torch.relu(x).detach())
    still = x.detach()
    pairs += [
        ("C++ ReLU, forward", lambda: torch.relu(still), lambda: relu(still), CPP_GOAL),
        (
            "C++ ReLU with OpenMP, forward",
            lambda: torch.relu(still),
            lambda: parallel(still),
            CPP_GOAL,
        ),
        (
            "C++ ReLU, forward for autograd",
            lambda: torch.relu(x),
            lambda: relu(x),
            CPP_GOAL,
        ),
        (
            "C++ ReLU, forward and backward",
            both(torch.relu, x, dy),
            both(relu, x, dy),
            CPP_GOAL,
        ),
    ]
    missed = [show(*pair, args.budget / len(pairs), args.seed) for pair in pairs]
    return 1 if any(missed) else 0


def show(
    what: str,
    theirs: Callable[[], Any],
    ours: Callable[[], Any],
    goal: float,
    budget: float,
    seed: int,
) -> bool:
    """Print the ratio; whether the goal is missed."""
    result = measure.run({"theirs": theirs, "ours": ours}, budget_s=budget, seed=seed)
    ratio = result.compare("theirs", "ours")
    base, time = (
        np.median(np.concatenate([*map(np.ravel, result.samples(name))]))
        for name in ("theirs", "ours")
    )
    word = (
        "met"
        if ratio.high <= goal
        else "MISSED"
        if ratio.low > goal
        else "not decided: give a longer --budget"
    )
    print(
        f"{what}: ours / theirs = {ratio.ratio:.3f} [{ratio.low:.3f}, {ratio.high:.3f}], n = {ratio.n}; "
        f"{time * 1e6:.2f} µs, {base * 1e6:.2f} µs; goal {goal}: {word}",
        flush=True,
    )
    return ratio.low > goal


if __name__ == "__main__":
    sys.exit(main())
