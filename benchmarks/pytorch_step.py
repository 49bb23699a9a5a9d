"""A whole training step (forward, backward, Adam) of the digits network: ours against PyTorch loops written by hand.

    python benchmarks/pytorch_step.py [--budget 40] [--seed 0]

One thread, batch 64, NumPy batches. "hand" is the loop that anyone would write: nn.Module, torch.optim.Adam;
"fused" is the same with fused=True. Ratios are paired, ours / theirs: goal at most 1.03 against hand.
"trainer" is an epoch of our Trainer, with an evaluation of one batch on two splits, against an epoch of the loops by
hand, which evaluate nothing; all take the same shuffled batches out of the data and read every loss at the end.
"""

import argparse
import sys
from collections.abc import Callable

import numpy as np
import torch

from deep500 import measure
from deep500.contracts.dataset import Split
from deep500.contracts.network import Network
from deep500.datasets.digits import Digits
from deep500.frameworks import framework
from deep500.networks import DigitsCnn
from deep500.optimizers import Adam
from deep500.samplers.shuffle_sampler import ShuffleSampler
from deep500.training.trainer import Trainer

BATCH = 64
GOAL = 1.03
Step = Callable[[dict[str, np.ndarray]], object]


class ByHand(torch.nn.Module):
    """The digits network as PyTorch's tutorials write one."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.conv1 = torch.nn.Conv2d(1, 6, 3, padding=1)
        self.conv2 = torch.nn.Conv2d(6, 16, 3, padding=1)
        self.fc1 = torch.nn.Linear(64, 120)
        self.fc2 = torch.nn.Linear(120, 84)
        self.logits = torch.nn.Linear(84, 10)
        self.relu, self.pool = torch.nn.ReLU(), torch.nn.MaxPool2d(2)
        self.load_state_dict(
            {name: torch.tensor(value) for name, value in network.params.items()}
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(self.conv2(x))).flatten(1)
        return self.logits(self.relu(self.fc2(self.relu(self.fc1(x)))))


def by_hand(network: Network, fused: bool | None) -> Step:
    model, criterion = ByHand(network), torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3, fused=fused)

    def step(batch: dict[str, np.ndarray]) -> torch.Tensor:
        optimizer.zero_grad()
        loss = criterion(
            model(torch.from_numpy(batch["x"])), torch.from_numpy(batch["label"])
        )
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def epoch(train: Split, step: Step) -> Callable[[], None]:
    """One epoch in the way of a hand-written loop: the same sampler, whole batches, the losses kept."""
    sampler = ShuffleSampler(BATCH, seed=0)

    def run() -> None:
        losses = [
            step(train.batch(indices)) for indices in sampler.epoch(len(train), 0)
        ]
        [float(loss) for loss in losses]

    return run


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--budget", type=float, default=40.0)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    fw, network = (
        framework("pytorch"),
        DigitsCnn().build(Digits.shape, Digits.classes, args.seed),
    )
    fw.set_threads(1)
    train = Digits().load()["train"]
    # whole batches only
    train = Split(train.batch(np.arange(len(train) // BATCH * BATCH)))
    batch = train.batch(np.arange(BATCH))
    hand, fused = by_hand(network, None), by_hand(network, True)
    ours = fw.executor(network).training_step(Adam())
    result = measure.run(
        {
            "hand": lambda: hand(batch),
            "fused": lambda: fused(batch),
            "executor": lambda: ours(batch),
        },
        budget_s=args.budget / 3,
        seed=args.seed,
    )
    good = show(
        "one step",
        result,
        [("hand", "executor"), ("fused", "executor"), ("hand", "fused")],
    )

    one = Split(batch)
    trainer = Trainer(
        fw.executor(network),
        Adam(),
        splits={"train": train, "validation": one, "test": one},
        sampler=ShuffleSampler(BATCH, seed=0),
        epochs=1,
    )
    result = measure.run(
        {
            "hand": epoch(train, hand),
            "fused": epoch(train, fused),
            "trainer": trainer.run,
        },
        budget_s=args.budget * 2 / 3,
        seed=args.seed,
    )
    return (
        0
        if show("one epoch", result, [("hand", "trainer"), ("fused", "trainer")])
        and good
        else 1
    )


def show(what: str, result: measure.Result, pairs: list[tuple[str, str]]) -> bool:
    """Print ratios; whether the first one meets the goal."""
    found = [result.compare(*pair) for pair in pairs]
    for (base, other), ratio in zip(pairs, found, strict=True):
        time = result.interval(other)
        print(
            f"{what}: {other} / {base} = {ratio.ratio:.3f} [{ratio.low:.3f}, {ratio.high:.3f}], n = {ratio.n}; "
            f"{other} {time.estimate * 1e3:.3f} ms [{time.low * 1e3:.3f}, {time.high * 1e3:.3f}]",
            flush=True,
        )
    return found[0].high <= GOAL


if __name__ == "__main__":
    sys.exit(main())
