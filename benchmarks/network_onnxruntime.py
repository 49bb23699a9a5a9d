"""Forward and backward on ONNX Runtime against the PyTorch module that the network was exported from, one thread.

    python benchmarks/network_onnxruntime.py [lenet vit gpt resnet18] [--rounds 40] [--optimize]

Both have the same weights and see the same batch; losses and gradients are compared first. The two take turns in one
process, and ratios are paired, ours / theirs, with their 95 % intervals: by the CPU time of the process, which goals
are held against, and by elapsed time, in which others on the machine show. A last line is the fixed cost of a call: a
network of one Relu against the session of the same model. Exit code 1 if a goal is missed.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
import torch
from _torch_models import MODELS, batch, export

import deep500 as d5
from deep500 import measure
from deep500.frameworks import framework
from deep500.losses.cross_entropy import CrossEntropy

GOALS = {"lenet": 0.5, "vit": 0.6, "gpt": 1.0, "resnet18": 1.2}
CALL_GOAL = 1.3
CALLS = 200  # in one sample of the fixed cost
Run = Callable[[], object]


def pair(name: str, optimize: bool) -> tuple[Run, Run]:
    """Ours and theirs, which have been compared."""
    torch.manual_seed(0)
    module = MODELS[name]().eval()
    x, labels = batch(name, torch.Generator().manual_seed(0))
    network = CrossEntropy().attach(d5.Network.from_onnx(export(module, x, optimize)))
    executor = framework("onnxruntime").executor(network, threads=1)
    inputs = dict(zip(network.inputs, (x.numpy(), labels.numpy()), strict=True))

    def ours() -> float:
        return executor.inference_and_backprop(inputs)["loss"].numpy().item()

    def theirs() -> float:
        module.zero_grad()
        loss = torch.nn.functional.cross_entropy(module(x), labels)
        loss.backward()
        return loss.item()

    np.testing.assert_allclose(ours(), theirs(), rtol=1e-4)
    norms = [
        np.linalg.norm(gradient.numpy()) for gradient in executor.gradients.values()
    ]
    their_norms = [
        p.grad.norm().item() for p in module.parameters() if p.grad is not None
    ]
    total, their_total = np.linalg.norm(norms), np.linalg.norm(their_norms)
    np.testing.assert_allclose(total, their_total, rtol=1e-3)
    return ours, theirs


def one_node() -> tuple[Run, Run]:
    """A call of a network of one node, and one of the engine's own session."""
    import onnxruntime  # type: ignore[import-untyped]

    network = d5.Network("one node")
    network.add_input("x", ("batch", 4))
    network.add_node("Relu", ("x",), ["y"])
    network.add_output("y")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        network.to_onnx().SerializeToString(), options
    )
    executor = framework("onnxruntime").executor(network, threads=1)
    inputs = {"x": np.ones((2, 4), "f4")}

    def ours() -> None:
        for _ in range(CALLS):
            executor.inference(inputs)

    def theirs() -> None:
        for _ in range(CALLS):
            session.run(None, inputs)

    return ours, theirs


def seconds(run: Run) -> tuple[float, float]:
    """CPU seconds of the process and elapsed seconds."""
    cpu, elapsed = time.process_time_ns(), time.perf_counter_ns()
    run()
    cpu, elapsed = time.process_time_ns() - cpu, time.perf_counter_ns() - elapsed
    return cpu / 1e9, elapsed / 1e9


def compared(
    name: str, runs: tuple[Run, Run], rounds: int, goal: float, unit: float
) -> bool:
    """Print the ratio of the two; says whether it reaches its goal."""
    for run in runs * 3:
        run()
    samples = np.array([[seconds(run) for run in runs] for _ in range(rounds)])
    ours, theirs = samples[:, 0], samples[:, 1]  # rounds x CPU and elapsed
    cpu, elapsed = (
        measure.compare(theirs[:, i], ours[:, i], paired=True) for i in (0, 1)
    )
    reached = cpu.ratio <= goal
    print(
        f"{name:10s} ours {np.median(ours[:, 0]) * unit:9.3f}  theirs {np.median(theirs[:, 0]) * unit:9.3f}  "
        f"CPU {_text(cpu)}, elapsed {_text(elapsed)}, n = {rounds}, goal {goal}: "
        f"{'reached' if reached else 'missed'}",
        flush=True,
    )
    return reached


def _text(ratio: measure.Comparison) -> str:
    return f"{ratio.ratio:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", default=[*MODELS], help=", ".join(MODELS))
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument(
        "--optimize", action="store_true", help="let PyTorch's exporter optimise"
    )
    args = parser.parse_args()
    torch.set_num_threads(1)
    framework("onnxruntime").set_threads(1)
    warnings.simplefilter("ignore")
    reached = []
    for name in args.models:
        runs = pair(name, args.optimize)
        reached.append(compared(name, runs, args.rounds, GOALS[name], 1e3))
    reached.append(
        compared("one call", one_node(), args.rounds, CALL_GOAL, 1e6 / CALLS)
    )
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())
