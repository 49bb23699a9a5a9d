"""The task contract: the arrays that a network learns from, the loss, and the measures of its quality."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ..definition import Definition
from ..errors import Deep500Error, lacking
from ..schema import optional
from .augmentation import Spec
from .dataset import Split, chunks
from .loss import Loss
from .network import Network

Arrays = Mapping[str, np.ndarray]
KINDS = {"real": "f", "integer": "iu"}  # the letters of NumPy's dtypes


@dataclass(frozen=True)
class Quality:
    """A number that an evaluation reports about a network: its name, its unit, and whether higher is better.

    `low` and `high` are the ends of its range, if it has any; one in % without them lies between 0 and 100.
    """

    name: str
    unit: str = ""
    better: Literal["lower", "higher"] = "higher"
    low: float | None = optional()
    high: float | None = optional()

    def __post_init__(self) -> None:
        if self.better not in ("lower", "higher"):
            raise Deep500Error(
                f"the quality {self.name!r} is better {self.better!r}: say 'lower' or 'higher'"
            )


@dataclass(frozen=True)
class Array:
    """The kind of an array of a batch; `dimensions` counts those of one example (None: any number)."""

    kind: Literal["real", "integer"] = "real"
    dimensions: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            kinds = " or ".join(KINDS)
            raise Deep500Error(f"an array holds no {self.kind!r} numbers: say {kinds}")

    def fault(self, spec: Spec) -> str | None:
        """Why an array of a split does not fit, to follow its name; None if it fits."""
        if spec.dtype.kind not in KINDS[self.kind]:
            return f"holds {spec.dtype}, and {self.kind} numbers are needed"
        if self.dimensions is not None and len(spec.shape) != self.dimensions:
            return f"has examples of the shape {spec.shape}, and {self.dimensions} dimensions are needed"
        return None


class Task(Definition):
    """A purpose that a network is trained for. A subclass defines the following; fields are its settings.

    qualities         The numbers that an evaluation reports; the first is the main one, shown in curves and bars.
    arrays()          The arrays of a batch by name, as far as the task knows them.
    input             The array that is the network's input.
    target            The array that the prediction is compared with.
    prediction        The network's output that the loss reads.
    loss()            The loss between prediction and target, for a network without one.
    sizes(train)      The shape of one input and the number of outputs of a network for these data.
    reads()           The network's outputs that an evaluation reads; by default the prediction.
    measure(outputs, batch)   Arrays by name, with an element for each example (or each token). The qualities are
                      computed from their means over all examples, summed exactly whatever the batch size.
    evaluate(means)   The qualities from these means; by default each is the mean of its name.
    check_data(splits, outputs)   Raises a Deep500Error for data that do not fit a network's outputs for a batch.
    """

    input: str
    target: str
    prediction: str
    qualities: ClassVar[tuple[Quality, ...]] = ()

    def arrays(self) -> dict[str, Array]:
        raise lacking(self, "arrays")

    def loss(self) -> Loss:
        name = type(self).__name__
        raise Deep500Error(
            f"the task {name} names no loss: give the network an output 'loss', or "
            "from_model a loss"
        )

    def sizes(self, train: Split) -> tuple[tuple[int, ...], int]:
        raise lacking(self, "sizes")

    def reads(self) -> tuple[str, ...]:
        return (self.prediction,)

    def measure(self, outputs: Arrays, batch: Arrays) -> dict[str, np.ndarray]:
        raise lacking(self, "measure")

    def evaluate(self, means: Mapping[str, float]) -> dict[str, float]:
        values = {}
        for quality in self.qualities:
            name = quality.name
            if name not in means:
                task = type(self).__name__
                measured = ", ".join(means)
                raise Deep500Error(
                    f"the task {task} has the quality {name!r}, and its `measure` gives: {measured}"
                )
            values[name] = means[name]
        return values

    def check_data(self, splits: Mapping[str, Split], outputs: Arrays) -> None:
        """By default all data are accepted."""

    def check_arrays(self, splits: Mapping[str, Split]) -> None:
        """Raise a Deep500Error if an array that the task needs is missing or of another kind."""
        task = type(self).__name__
        for split_name, split in splits.items():
            specs = split.specs
            for name, array in self.arrays().items():
                if name not in specs:
                    present = ", ".join(specs)
                    raise Deep500Error(
                        f"the task {task} needs {name!r}, and the split {split_name!r} "
                        f"has: {present}"
                    )
                fault = array.fault(specs[name])
                if fault:
                    raise Deep500Error(f"{name!r} of the split {split_name!r} {fault}")

    def attach_loss(self, network: Network, loss: Loss | None = None) -> Network:
        """The network with an output "loss": itself if it has one, else a copy with this loss or the task's."""
        if "loss" in network.outputs:
            return network
        chosen = loss or self.loss()
        chosen.check_trains()
        return chosen.attach(network, self.prediction, self.target)


def check_classes(
    splits: Mapping[str, Split],
    name: str,
    classes: int,
    noun: str,
    owner: str = "the network",
) -> None:
    """Raise a Deep500Error for a label that is none of the classes, which some frameworks silently ignore.

    `noun` is what the message calls the classes, and `owner` has them.
    """
    for split_name, split in splits.items():
        if split.specs[name].dtype.kind not in KINDS["integer"]:
            continue  # probabilities, of an augmentation that mixes labels
        low, high = split.bounds(name)
        if low >= 0 and high < classes:
            continue
        row, label = _first_outside(split, name, classes)
        raise Deep500Error(
            f"{name!r} of the split {split_name!r} goes from {low} to {high}, and {owner} has "
            f"{classes} {noun}: 0 to {classes - 1} (row {row} has {label})"
        )


def _first_outside(split: Split, name: str, classes: int) -> tuple[int, int]:
    """The first row with a label that is none of the classes, and that label."""
    start = 0
    for part in chunks(split.columns[name]):
        labels = part.reshape(len(part), -1)
        is_outside = (labels < 0) | (labels >= classes)
        if is_outside.any():
            row = int(is_outside.any(axis=1).argmax())
            column = int(is_outside[row].argmax())
            return start + row, int(labels[row, column])
        start += len(part)
    raise AssertionError("every label is one of the classes")
