"""A whole training step (forward, backward, Adam) on ONNX Runtime against PyTorch eager, digits CNN, one thread.

    python benchmarks/onnxruntime_step.py [--rounds 12] [--steps 200] [--batch 64]

PyTorch is a plain nn.Module with torch.optim.Adam, default and fused. Every round runs each way once in a fresh
process, in random order; one value per process is its median step. All start from the same weights and see the same
batches, and the run fails if their losses part. Exit code 1 if ONNX Runtime takes more than 0.8 of PyTorch's default.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from deep500 import measure

WAYS = ("onnxruntime", "pytorch", "pytorch fused")
GOAL = 0.8
WARM_UP = 20

Batch = dict[str, np.ndarray]


def network():
    from deep500.networks import DigitsCnn

    return DigitsCnn().build((1, 8, 8), 10, seed=0)


def batches(count: int, size: int) -> list[Batch]:
    """Random pictures: real digits have ties, at which two right MaxPools part."""
    rng = np.random.default_rng(0)
    return [
        {
            "x": rng.standard_normal((size, 1, 8, 8)).astype("f4"),
            "label": rng.integers(0, 10, size),
        }
        for _ in range(count)
    ]


def onnxruntime_step() -> Callable[[Batch], float]:
    from deep500.frameworks import framework
    from deep500.optimizers.adam import Adam

    engine = framework("onnxruntime")
    engine.set_threads(1)
    step = engine.executor(network()).training_step(Adam())
    return lambda batch: step(batch)["loss"].numpy().item()


def pytorch_step(fused: bool) -> Callable[[Batch], float]:
    import torch
    from torch import nn

    torch.set_num_threads(1)

    class Digits(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1, self.conv2 = (
                nn.Conv2d(1, 6, 3, padding=1),
                nn.Conv2d(6, 16, 3, padding=1),
            )
            self.fc1, self.fc2, self.logits = (
                nn.Linear(64, 120),
                nn.Linear(120, 84),
                nn.Linear(84, 10),
            )
            self.pool, self.relu = nn.MaxPool2d(2), nn.ReLU()

        def forward(self, x):
            x = self.pool(self.relu(self.conv1(x)))
            x = self.pool(self.relu(self.conv2(x))).flatten(1)
            return self.logits(self.relu(self.fc2(self.relu(self.fc1(x)))))

    model, loss_of = Digits(), nn.CrossEntropyLoss()
    model.load_state_dict(
        {name: torch.tensor(value) for name, value in network().params.items()}
    )
    optimizer = torch.optim.Adam(model.parameters(), fused=True if fused else None)

    def step(batch: Batch) -> float:
        optimizer.zero_grad()
        loss = loss_of(
            model(torch.from_numpy(batch["x"])), torch.from_numpy(batch["label"])
        )
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def work(way: str, steps: int, size: int) -> None:
    """Print the seconds of every step after the warm-up, and all losses."""
    step = (
        onnxruntime_step()
        if way == "onnxruntime"
        else pytorch_step(fused=way.endswith("fused"))
    )
    losses, seconds = [], []
    for batch in batches(WARM_UP + steps, size):
        start = time.perf_counter_ns()
        losses.append(step(batch))
        seconds.append((time.perf_counter_ns() - start) / 1e9)
    print(json.dumps({"seconds": seconds[WARM_UP:], "losses": losses}))


def visit(way: str, args: argparse.Namespace) -> dict[str, list[float]]:
    command = [
        sys.executable,
        __file__,
        "--way",
        way,
        "--steps",
        str(args.steps),
        "--batch",
        str(args.batch),
    ]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    if done.returncode:
        raise SystemExit(f"{way} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.way:
        work(args.way, args.steps, args.batch)
        return 0
    rng, medians = random.Random(args.seed), {way: [] for way in WAYS}
    for _ in range(args.rounds):
        found = {way: visit(way, args) for way in rng.sample(WAYS, len(WAYS))}
        for way in WAYS:
            medians[way].append(float(np.median(found[way]["seconds"])))
            np.testing.assert_allclose(
                found[way]["losses"][:20], found["pytorch"]["losses"][:20], rtol=1e-4
            )
    print(
        f"digits CNN, batch {args.batch}, one thread: {args.rounds} rounds of fresh processes of {args.steps} steps"
    )
    for way in WAYS:
        print(f"{way:14s} {np.median(medians[way]) * 1e3:7.3f} ms a step")
    for other in WAYS[1:]:
        ratio = measure.compare(
            np.array(medians[other]), np.array(medians["onnxruntime"]), paired=True
        )
        print(
            f"onnxruntime / {other} = {ratio.ratio:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]: {ratio.verdict}"
        )
        if other == "pytorch":
            reached = ratio.high <= GOAL
    print(
        f"goal: at most {GOAL} of PyTorch's default, {'reached' if reached else 'missed'}"
    )
    return 0 if reached else 1


if __name__ == "__main__":
    raise SystemExit(main())
