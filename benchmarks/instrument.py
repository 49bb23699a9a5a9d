"""What `d5.instrument` costs a PyTorch loop: the same loop with and without it, side by side.

    python benchmarks/instrument.py [--processes 6] [--pairs 60] [--clock cpu]

MLP 784-256-128-10, batch 64, one thread, fused Adam. With it, a step has four regions (data, forward, backward, update)
and hands over its loss; an evaluation, which writes a block to disk, follows every 200 steps and counts as part of
them. In each fresh process both loops and a copy of the plain one (the A/A control) take turns in random order. Goal:
at most 1.02.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from training_step import BATCH, CLOCKS, EXAMPLES, data, torch_module

from deep500.measure import compare

STRETCH, EVERY = 10, 200  # steps of a stretch, and from one evaluation to the next
GOAL = 1.02


def batches() -> Iterator[tuple[Any, Any]]:
    import torch

    pictures, labels = map(torch.from_numpy, data())
    rng = np.random.default_rng(0)
    while True:
        order = torch.from_numpy(rng.permutation(EXAMPLES))
        for chosen in order.split(BATCH):
            yield pictures[chosen], labels[chosen]


class Loop:
    """A loop as anyone writes it, with or without a run that records it."""

    def __init__(self, run: Any = None):
        import torch

        self.model, self.criterion = torch_module("mlp"), torch.nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(self.model.parameters(), 1e-3, fused=True)
        self.run = run
        self.batches = iter(batches()) if run is None else run.batches(batches())

    def plain(self, steps: int) -> None:
        for _ in range(steps):
            x, label = next(self.batches)
            loss = self.criterion(self.model(x), label)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()

    def recorded(self, steps: int) -> None:
        run = self.run
        for _ in range(steps):
            x, label = next(self.batches)
            with run.region("forward"):
                loss = self.criterion(self.model(x), label)
            with run.region("backward"):
                loss.backward()
            with run.region("update"):
                self.optimizer.step()
                self.optimizer.zero_grad()
            run.step(loss=loss, examples=len(x))
            if run.steps % EVERY == 0:
                run.evaluation(accuracy=0.0)


def worker(pairs: int, seed: int, clock: Callable[[], float]) -> dict[str, list[float]]:
    import torch

    import deep500 as d5

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        run = d5.instrument("benchmark", out=Path(folder) / "bundle")
        ways = {
            "plain": Loop().plain,
            "control": Loop().plain,
            "recorded": Loop(run).recorded,
        }
        times: dict[str, list[float]] = {name: [] for name in ways}
        rng = random.Random(seed)
        for way in ways.values():
            way(100)
        for _ in range(pairs):
            for name in rng.sample([*ways], len(ways)):
                begin = clock()
                ways[name](STRETCH)
                times[name].append((clock() - begin) / STRETCH)
        run.finish()
    return times


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--processes", type=int, default=6)
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker is not None:
        print(json.dumps(worker(args.pairs, args.worker, CLOCKS[args.clock])))
        return 0
    series: dict[str, list[list[float]]] = {"plain": [], "control": [], "recorded": []}
    for number in range(args.processes):
        command = [
            sys.executable,
            __file__,
            "--worker",
            str(number),
            "--pairs",
            str(args.pairs),
        ]
        answer = subprocess.run(
            [*command, "--clock", args.clock], capture_output=True, check=True
        )
        for name, times in json.loads(answer.stdout.splitlines()[-1]).items():
            series[name].append(times)
    ours = compare(series["plain"], series["recorded"], paired=True)
    same = compare(series["plain"], series["control"], paired=True)
    print(
        f"recorded / plain = {ours.ratio:.4f} [{ours.low:.4f}, {ours.high:.4f}], n = {ours.n} pairs in "
        f"{ours.processes} processes; A/A {same.ratio:.4f} [{same.low:.4f}, {same.high:.4f}]; a plain step "
        f"takes {ours.a.estimate * 1e3:.3f} ms ({args.clock}); goal {GOAL}: "
        f"{'reached' if ours.ratio <= GOAL else 'not reached'}"
    )
    return 0 if ours.ratio <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
