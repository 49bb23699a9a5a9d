"""The divided convolution equals the whole one, forward and backward, on every framework and for other batches."""

from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.micro_batches import running
from deep500.micro_batches.micro_batched_conv import MicroBatchedConv
from deep500.micro_batches.running import algorithm

CONV = d5.operators.Conv(pads=(1, 1, 1, 1), strides=(2, 1))
PLANS = (
    "2 x 2 im2col_whole + 1 direct",
    "4 direct + 1 im2col",
    "3 im2col + 2 x 1 direct",
)
ENGINES = ["reference", "pytorch", "jax", "tensorflow", "onnxruntime"]


def arrays(batch: int, dtype: str = "float32") -> list[np.ndarray]:
    random = np.random.default_rng(batch)
    shapes = (batch, 3, 7, 6), (4, 3, 3, 3), (4,)
    return [random.standard_normal(shape).astype(dtype) for shape in shapes]


def check_equal(
    plans: tuple[str, ...],
    batch: int,
    framework: str = "reference",
    dtype: str = "float32",
    own_workspaces: bool = False,
) -> None:
    """Results and gradients are those of float64, within what float32 explains."""
    divided = MicroBatchedConv(CONV, plans, 1, True, own_workspaces).operator
    inputs = arrays(batch, dtype)
    wide = [x.astype("float64") for x in inputs]
    (y,) = d5.evaluate(divided, inputs, framework=framework)
    (exact,) = d5.evaluate(CONV, wide)
    bound = 1e-12 if dtype == "float64" else 1e-4
    np.testing.assert_allclose(y, exact, bound, bound)
    dy = np.random.default_rng(0).standard_normal(y.shape).astype(dtype)
    gradients = d5.gradient(divided, inputs, grads=[dy], framework=framework)
    exact_gradients = d5.gradient(CONV, wide, grads=[dy.astype("float64")])
    for gradient, expected in zip(gradients, exact_gradients, strict=True):
        np.testing.assert_allclose(gradient, expected, bound, 10 * bound)


@pytest.mark.parametrize("framework", ENGINES)
def test_on_every_framework(framework: str) -> None:
    check_equal(PLANS, 5, framework)


@pytest.mark.parametrize("batch", [1, 2, 4, 5, 8, 13])
@pytest.mark.parametrize("own", [False, True])
def test_other_batches_use_the_parts_in_turn(batch: int, own: bool) -> None:
    check_equal(PLANS, batch, own_workspaces=own)


def test_in_float64() -> None:
    check_equal(PLANS, 5, dtype="float64")


def test_an_empty_batch() -> None:
    divided = MicroBatchedConv(CONV, PLANS, bias=False)
    x, w, _ = arrays(0)
    (y,) = divided.run([x, w])
    dx, dw = divided.gradients([y], [x, w], [y])
    assert y.shape[0] == dx.shape[0] == 0
    assert not dw.any()


class LastPartOnly:
    """An algorithm that gets the caller's word on whether to add up, as the published code of µ-cuDNN hands it on."""

    def __init__(self, name: str, examples: int):
        self.own = algorithm(name, examples)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)

    def run(self, *arguments: Any, accumulate: bool = False, **options: Any) -> None:
        self.own.run(*arguments, accumulate=False, **options)


def test_a_filter_gradient_that_keeps_its_last_part_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    check_equal(PLANS, 5)
    monkeypatch.setattr(running, "algorithm", LastPartOnly)
    with pytest.raises(AssertionError):
        check_equal(PLANS, 5)
    # a gradient that is computed at once has nothing to add up
    check_equal((*PLANS[:2], "5 im2col"), 5)


def test_the_workspace_is_that_of_the_largest_part() -> None:
    divided = MicroBatchedConv(CONV, PLANS)
    x, w, _ = arrays(5)
    from deep500.micro_batches.micro_batched_conv import convolution_problem

    problem = convolution_problem(CONV, x, w)
    needed = algorithm("im2col_whole", 2).workspace(problem.with_batch(2), "forward")
    assert divided.workspace("forward", problem) == needed
    whole = algorithm("im2col_whole", 5).workspace(problem, "forward")
    assert needed < whole
    forward = divided.operator.workspace("pytorch", "forward", x, w)
    assert forward == needed


def test_a_gradient_that_nobody_needs_is_not_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    torch = pytest.importorskip("torch")
    computed: list[str] = []
    right = running.run_parts

    def noted(parts: Any, problem: Any, direction: str, *rest: Any) -> None:
        computed.append(direction)
        right(parts, problem, direction, *rest)

    from deep500.micro_batches import micro_batched_conv

    monkeypatch.setattr(micro_batched_conv, "run_parts", noted)
    run = d5.framework("pytorch").custom_op(MicroBatchedConv(CONV, PLANS))
    x, w, _ = map(torch.tensor, arrays(5))
    w.requires_grad_()
    run(x, w).sum().backward()
    assert computed == ["forward", "filter"]


def test_what_has_no_two_axes_is_refused() -> None:
    divided = MicroBatchedConv(d5.operators.Conv(), PLANS)
    with pytest.raises(d5.Deep500Error, match="a convolution of 1 axes"):
        divided.run([np.ones((1, 2, 5), "f"), np.ones((3, 2, 2), "f")])
