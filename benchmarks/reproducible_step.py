"""What a reproducible training step costs: PyTorch's plain step and reproducible ones in turn, in one thread.

    python benchmarks/reproducible_step.py [--only gpt ...] [--rounds 30] [--leaves 16,fixed] [--clock cpu]

Batches of 64. In every round, each kind of step runs a stretch of about 20 ms, in random order; the ratio is that of
the CPU time of a stretch to that of the plain one of its round. Prints the median over rounds and its 95 % interval.
Goal: at most 1.3 for the CNN and the GPT.
"""

import argparse
import os
import random
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import deep500 as d5
from deep500.contracts.leaves import leaves_of
from deep500.measure.statistics.intervals import interval
from deep500.training.steps import training_step

BATCH, STRETCH_SECONDS, VOCABULARY = 64, 0.02, 65
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
GPT = {"layers": 2, "width": 64, "heads": 4, "dropout": 0.1}
NETWORKS: dict[str, tuple[str, tuple[int, ...], int, dict[str, Any]]] = {
    "mlp": ("mlp", (1, 8, 8), 10, {}),
    "cnn": ("digits_cnn", (1, 8, 8), 10, {}),
    "cnn-batch-norm": ("digits_cnn", (1, 8, 8), 10, {"batch_norm": True}),
    "lenet": ("lenet", (1, 28, 28), 10, {}),
    "gpt": ("gpt", (64,), VOCABULARY, GPT),
}


def batch_of(model: str, shape: tuple[int, ...], outputs: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    if model == "gpt":
        tokens = rng.integers(0, VOCABULARY, (BATCH, shape[0] + 1))
        return {"x": tokens[:, :-1], "label": tokens[:, 1:]}
    pictures = rng.random((BATCH, *shape), np.float32)
    return {"x": pictures, "label": rng.integers(0, outputs, BATCH)}


def step_of(name: str, leaves: str) -> Callable[[], Any]:
    model, shape, outputs, settings = NETWORKS[name]
    network = d5.networks.create(
        model, outputs=outputs, shape=shape, seed=0, **settings
    )
    executor = d5.framework("pytorch").executor(network)
    executor.leaves = leaves_of(leaves) if leaves != "plain" else None
    batch = batch_of(model, shape, outputs)
    free = [n for n in executor.structure.inputs if not n.startswith("deep500:")]
    named = dict(zip(free, batch.values(), strict=True))
    step = training_step(executor, d5.optimizers.Adam(1e-3), "loss")
    return lambda: step(named)


def stretch(step: Callable[[], Any], calls: int, clock: Callable[[], float]) -> float:
    begin = clock()
    for _ in range(calls):
        step()
    return (clock() - begin) / calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=NETWORKS, default=[*NETWORKS])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--leaves", nargs="+", default=["16,fixed", "16,framework"])
    parser.add_argument("--clock", choices=CLOCKS, default="cpu")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    d5.framework("pytorch").set_threads(1)
    clock = CLOCKS[arguments.clock]
    for name in arguments.only:
        steps = {kind: step_of(name, kind) for kind in ("plain", *arguments.leaves)}
        calls = {}
        for kind, step in steps.items():
            seconds = min(stretch(step, 3, clock) for _ in range(3))
            calls[kind] = max(1, round(STRETCH_SECONDS / seconds))
        times: dict[str, list[float]] = {kind: [] for kind in steps}
        for _ in range(arguments.rounds):
            for kind in random.sample([*steps], len(steps)):
                times[kind].append(stretch(steps[kind], calls[kind], clock))
        plain = np.array(times["plain"])
        print(
            f"{name}: plain {1e3 * np.median(plain):.3f} ms a step, {len(plain)} rounds"
        )
        for kind in arguments.leaves:
            ratios = np.array(times[kind]) / plain
            found = interval(ratios)
            print(f"  {kind}: {found.estimate:.3f} [{found.low:.3f}, {found.high:.3f}]")
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
