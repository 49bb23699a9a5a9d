"""A step of data-parallel SGD on PyTorch over gloo, two ranks: ours against torch's DistributedDataParallel.

    python benchmarks/distributed_step.py [--only mlp lenet] [--launches 6] [--pairs 20] [--ranks 1] [--seed 0]

Real processes, one thread each, batch 64 on every rank, SGD with a learning rate of 0.01. In every launch both ranks do
stretches of steps in turns, in an order that the seed decides: ours (AllReduce on the transport torch), DDP, and DDP a
second time, which is the control. A stretch's time is that of its slower rank. The ratio is ours / DDP, the median over
pairs of stretches, its 95 % interval over launches. A second part compares one rank through the distributed trainer's
program with the plain training step. Goals: at most 1.00 against DDP (upper end 1.05), 1.01 for one rank (1.03).
"""

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

STEPS = 20  # of a stretch
BATCH = 64
GOALS = {"two ranks": (1.00, 1.05), "one rank": (1.01, 1.03)}
Stretch = Callable[[], None]


def batch(rank: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(rank)
    x = rng.standard_normal((BATCH, 1, 28, 28)).astype("float32")
    return {"x": x, "label": rng.integers(0, 10, BATCH)}


def replica(name: str, rank: int, size: int) -> Any:
    from deep500 import networks
    from deep500.distributed.replica import Replica
    from deep500.distributed.shards import Shard
    from deep500.frameworks import framework
    from deep500.optimizers.sgd import SGD
    from deep500.tasks.classification import Classification

    options: dict[str, Any] = {"hidden": (256, 128)} if name == "mlp" else {}
    network = networks.create(name, classes=10, shape=(1, 28, 28), seed=0, **options)
    network = Classification().attach_loss(network)
    executor = framework("pytorch").from_model(network, threads=1)
    own = Replica(rank, size, executor, SGD(0.01))
    own.shards = [Shard(batch(rank), BATCH, BATCH * rank, BATCH * size)] * STEPS
    own.clock = time.perf_counter
    return own


def ours(name: str, transport: Any) -> Stretch:
    from deep500.schemes.all_reduce import AllReduce

    [rank] = transport.ranks
    own = replica(name, rank, transport.size)
    scheme = AllReduce()

    def stretch() -> None:
        own.steps.clear()
        transport.run(lambda _: scheme.epoch(own))

    return stretch


def plain(name: str) -> Stretch:
    own = replica(name, 0, 1)
    step, data = own.training_step, batch(0)

    def stretch() -> None:
        for _ in range(STEPS):
            step(data)

    return stretch


def ddp(name: str, rank: int) -> Stretch:
    import torch
    from training_step import torch_module

    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch_module(name))
    optimizer = torch.optim.SGD(model.parameters(), 0.01, foreach=True)
    criterion = torch.nn.CrossEntropyLoss()
    arrays = batch(rank)

    def stretch() -> None:
        losses = []
        for _ in range(STEPS):
            optimizer.zero_grad(set_to_none=True)
            x, label = torch.from_numpy(arrays["x"]), torch.from_numpy(arrays["label"])
            loss = criterion(model(x), label)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())

    return stretch


def run_rank(name: str, pairs: int, seed: int) -> None:
    """One rank of a launch: rank 0 prints the seconds of every stretch."""
    import torch

    from deep500.contracts.transport import all_reduce, barrier
    from deep500.distributed.communication import process_transport

    torch.set_num_threads(1)
    transport = process_transport("torch")
    [rank] = transport.ranks
    if transport.size == 1:
        stretches = {
            "ours": ours(name, transport),
            "other": plain(name),
            "again": plain(name),
        }
    else:
        stretches = {
            "ours": ours(name, transport),
            "other": ddp(name, rank),
            "again": ddp(name, rank),
        }
    order = random.Random(seed)
    for stretch in stretches.values():
        stretch()
    rows = []
    for _ in range(pairs):
        names = [*stretches]
        order.shuffle(names)
        row = {}
        for which in names:
            transport.run(lambda _: barrier())
            begin = time.perf_counter()
            stretches[which]()
            seconds = np.array([time.perf_counter() - begin])
            transport.run(lambda _, seconds=seconds: all_reduce(seconds, "max"))
            row[which] = float(seconds[0])
        rows.append(row)
    if rank == 0:
        print("rows", json.dumps(rows), flush=True)
    transport.close()


def ratios(
    name: str, ranks: int, launches: int, pairs: int, seed: int
) -> dict[str, Any]:
    from deep500.distributed.launching import launch, python_command
    from deep500.measure import compare

    others: list[list[float]] = []
    own: list[list[float]] = []
    again: list[list[float]] = []
    for number in range(launches):
        words = [
            __file__,
            "--rank",
            name,
            "--pairs",
            str(pairs),
            "--seed",
            str(seed + number),
        ]
        env = {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
        done = launch(python_command(*words), ranks, "torch", capture=True, env=env)
        lines = [line for line in done.output.splitlines() if line.startswith("rows ")]
        if done.code or not lines:
            raise SystemExit(done.output)
        rows = json.loads(lines[0].removeprefix("rows "))
        own.append([row["ours"] / STEPS for row in rows])
        others.append([row["other"] / STEPS for row in rows])
        again.append([row["again"] / STEPS for row in rows])
    return {
        "ours": compare(others, own, paired=True),
        "control": compare(others, again, paired=True),
        "median": others,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=["mlp", "lenet"])
    parser.add_argument("--launches", type=int, default=6)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--ranks", type=int, choices=(1, 2), help="one of the two parts only"
    )
    parser.add_argument("--rank", default=None, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.rank:
        run_rank(args.rank, args.pairs, args.seed)
        return 0
    missed = 0
    parts = [("two ranks", 2), ("one rank", 1)]
    for what, ranks in [part for part in parts if args.ranks in (None, part[1])]:
        goal, most = GOALS[what]
        for name in args.only:
            found = ratios(name, ranks, args.launches, args.pairs, args.seed)
            ratio, control = found["ours"], found["control"]
            met = ratio.ratio <= goal and ratio.high <= most
            missed += not met
            step = 1e3 * float(np.median(np.concatenate(found["median"])))
            print(
                f"{what}, {name}: ours / {'DDP' if ranks == 2 else 'plain'} = {ratio.ratio:.3f} "
                f"[{ratio.low:.3f}, {ratio.high:.3f}], n = {args.launches} launches x {args.pairs} "
                f"pairs, control {control.ratio:.3f} [{control.low:.3f}, {control.high:.3f}], "
                f"step {step:.2f} ms; goal {goal:.2f} (upper end {most:.2f}): "
                f"{'met' if met else 'missed'}",
                flush=True,
            )
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
