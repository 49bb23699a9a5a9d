"""The task contract: what is learnt, from which arrays, by which loss, and how good it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ..definition import Definition
from ..errors import Deep500Error, lacking
from .augmentation import Spec
from .dataset import Split
from .loss import Loss
from .network import Network

Arrays = Mapping[str, np.ndarray]
KINDS = {"real": "f", "integer": "iu"}  # the letters of NumPy's dtypes


@dataclass(frozen=True)
class Quality:
    """What an evaluation says about a network: a number by name, with its unit and its direction."""

    name: str
    unit: str = ""
    better: Literal["lower", "higher"] = "higher"

    def __post_init__(self) -> None:
        if self.better not in ("lower", "higher"):
            raise Deep500Error(
                f"the quality {self.name!r} is better {self.better!r}: say 'lower' or 'higher'"
            )


@dataclass(frozen=True)
class Array:
    """What an array of a batch holds; `dimensions` counts those of one example (None: any number)."""

    kind: Literal["real", "integer"] = "real"
    dimensions: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise Deep500Error(
                f"an array holds no {self.kind!r} numbers: say {' or '.join(KINDS)}"
            )

    def fault(self, spec: Spec) -> str | None:
        """What is wrong with an array of a split; None if nothing is."""
        if spec.dtype.kind not in KINDS[self.kind]:
            return f"holds {spec.dtype}, and {self.kind} numbers are needed"
        if self.dimensions is not None and len(spec.shape) != self.dimensions:
            return f"has examples of the shape {spec.shape}, and {self.dimensions} dimensions are needed"
        return None


class Task(Definition):
    """What a network is trained for. A subclass says the following; fields are its settings.

    qualities         What an evaluation reports; the first one is the main one, shown in curves and bars.
    arrays()          The arrays of a batch by name, as far as the task knows them.
    input             The array that the network starts from.
    target            The array that the prediction is compared with.
    prediction        The network's output that the loss reads.
    loss()            The loss between prediction and target, for a network that brings none.
    sizes(train)      The shape of one input and the number of outputs that a network for these data has.
    reads()           The network's outputs that an evaluation reads; by default the prediction.
    measure(outputs, batch)   Arrays by name, an element for each example (or each token): their means over all
                      examples of a split, summed exactly whatever the size of the batches, make the qualities.
    evaluate(means)   The qualities from these means; by default each is the mean of its name.
    check_data(splits, outputs)   Raises a Deep500Error for data that do not go with what a network gave for a batch.
    """

    input: str
    target: str
    prediction: str
    qualities: ClassVar[tuple[Quality, ...]] = ()

    def arrays(self) -> dict[str, Array]:
        raise lacking(self, "arrays")

    def loss(self) -> Loss:
        raise Deep500Error(
            f"the task {type(self).__name__} names no loss: give the network an output 'loss', or "
            "from_model a loss"
        )

    def sizes(self, train: Split) -> tuple[tuple[int, ...], int]:
        raise lacking(self, "sizes")

    def reads(self) -> tuple[str, ...]:
        return (self.prediction,)

    def measure(self, outputs: Arrays, batch: Arrays) -> dict[str, np.ndarray]:
        raise lacking(self, "measure")

    def evaluate(self, means: Mapping[str, float]) -> dict[str, float]:
        names = [quality.name for quality in self.qualities]
        if missing := [name for name in names if name not in means]:
            raise Deep500Error(
                f"the task {type(self).__name__} has the quality {missing[0]!r}, and its `measure` gives: "
                f"{', '.join(means)}"
            )
        return {name: means[name] for name in names}

    def check_data(self, splits: Mapping[str, Split], outputs: Arrays) -> None:
        """By default nothing is refused."""

    def check_arrays(self, splits: Mapping[str, Split]) -> None:
        """Raise a Deep500Error if an array that the task needs is missing or of another kind."""
        for split_name, split in splits.items():
            specs = split.specs
            for name, wanted in self.arrays().items():
                if name not in specs:
                    raise Deep500Error(
                        f"the task {type(self).__name__} needs {name!r}, and the split {split_name!r} "
                        f"has: {', '.join(specs)}"
                    )
                if fault := wanted.fault(specs[name]):
                    raise Deep500Error(f"{name!r} of the split {split_name!r} {fault}")

    def attach_loss(self, network: Network, loss: Loss | None = None) -> Network:
        """The network with an output "loss": itself if it has one, else a copy with this loss or the task's."""
        if "loss" in network.outputs:
            return network
        chosen = loss or self.loss()
        chosen.check_trains()
        return chosen.attach(network, self.prediction, self.target)


def check_classes(
    splits: Mapping[str, Split], name: str, classes: int, what: str
) -> None:
    """Refuse a label beyond the network's classes: it costs nothing on one framework and fails on another."""
    for split_name, split in splits.items():
        if split.specs[name].dtype.kind not in KINDS["integer"]:
            continue  # probabilities, of an augmentation that mixes labels
        low, high = split.bounds(name)
        if low < 0 or high >= classes:
            raise Deep500Error(
                f"{name!r} of the split {split_name!r} goes from {low} to {high}, and the network has "
                f"{classes} {what}: 0 to one less"
            )
