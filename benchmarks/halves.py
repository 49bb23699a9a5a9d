"""The two halves of a training step against the whole, on PyTorch with one thread.

    python benchmarks/halves.py [--budget 20]

`backprop(batch)` and then `update()` do what `step(batch)` does. Ratios are paired, halves / whole: the median should
be at most 1.01, the upper end of its 95 % interval at most 1.03. "flat" also asks for the flat gradients between the
halves, as a distributed optimizer does. Every candidate trains a network of its own, on the same batch.
"""

import argparse
import sys
from collections.abc import Callable

import numpy as np

from deep500 import measure
from deep500.contracts.executor import TrainingStep
from deep500.contracts.network import Network
from deep500.datasets.digits import Digits
from deep500.frameworks import framework
from deep500.networks import DigitsCnn, Mlp
from deep500.optimizers import Adam

BATCH = 64
MEDIAN, UPPER_END = 1.01, 1.03
NETWORKS = {"MLP": Mlp(), "LeNet": DigitsCnn()}


def new_step(network: Network) -> TrainingStep:
    return framework("pytorch").executor(network, threads=1).training_step(Adam())


def candidates(
    network: Network, batch: dict[str, np.ndarray]
) -> dict[str, Callable[[], None]]:
    whole, halves, flat = (new_step(network) for _ in range(3))

    def run_halves() -> None:
        halves.backprop(batch)
        halves.update()

    def run_flat() -> None:
        flat.backprop(batch)
        flat.executor.flat_gradients()["float32"]
        flat.update()

    return {"whole": lambda: whole(batch), "halves": run_halves, "flat": run_flat}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--budget", type=float, default=20.0, help="seconds per network (20)"
    )
    budget = parser.parse_args().budget
    batch = Digits().load()["train"].batch(np.arange(BATCH))
    reached = True
    for name, definition in NETWORKS.items():
        network = definition.build(Digits.shape, Digits.classes)
        result = measure.run(candidates(network, batch), budget_s=budget)
        for other in ("halves", "flat"):
            ratio = result.compare("whole", other)
            print(
                f"{name}: {other} / whole = {ratio.ratio:.4f} [{ratio.low:.4f}, {ratio.high:.4f}], "
                f"n = {ratio.n}; whole {result.interval('whole').estimate * 1e3:.3f} ms",
                flush=True,
            )
            if other == "halves":
                reached &= ratio.ratio <= MEDIAN and ratio.high <= UPPER_END
    print(f"goal: {'reached' if reached else 'missed'}")
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
