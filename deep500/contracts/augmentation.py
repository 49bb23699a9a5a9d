"""The augmentation contract: changes to examples before they reach a network."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..definition import Definition
from ..errors import Deep500Error, lacking

Batch = dict[str, np.ndarray]


class Spec(NamedTuple):
    """An array of a batch: the shape of one example, and its dtype."""

    shape: tuple[int, ...]
    dtype: np.dtype


@dataclass(frozen=True)
class Draws:
    """Random numbers of one augmentation, a function of the seed, the epoch, its position and each example's index.

    They do not depend on the batch that an example is in, nor on the process that reads it.
    """

    seed: int
    epoch: int
    position: int
    indices: np.ndarray

    def uniform(self, count: int) -> np.ndarray:
        """Numbers from 0 to below 1, of the shape (examples, count)."""
        stream = _mixed(np.uint64(self.seed) + _word(self.epoch) * ODD)
        stream = _mixed(stream + _word(self.position) * ODD)
        indices = self.indices.astype(np.uint64)
        examples = _mixed(stream + indices * ODD)
        numbers = np.arange(1, count + 1, dtype=np.uint64) * ODD
        bits = _mixed(examples[:, None] + numbers)
        return (bits >> np.uint64(11)) * 2.0**-53

    def integers(self, below: int, count: int) -> np.ndarray:
        """Integers from 0 to below `below`, of the shape (examples, count)."""
        return (self.uniform(count) * below).astype(np.int64)


class Augmentation(Definition):
    """Changes batches. Its fields are its settings.

    apply(batch, draws)   Required: returns the changed batch, all examples at once, and leaves the argument unchanged.
                          Random numbers come from `draws` alone.
    specs(specs)          Needed if it changes a shape or a dtype: those of every array after it.
    write(batch, draws, out)   Optional: the same as `apply`, written into the arrays `out`.
    """

    def apply(self, batch: Batch, draws: Draws) -> Batch:
        raise lacking(self, "apply")

    def specs(self, specs: Mapping[str, Spec]) -> dict[str, Spec]:
        return dict(specs)

    def write(self, batch: Batch, draws: Draws, out: Mapping[str, np.ndarray]) -> None:
        for name, values in self.apply(batch, draws).items():
            out[name][...] = values

    def renamed(self, names: Mapping[str, str]) -> "Augmentation":
        """The same augmentation for arrays with other names; `names` maps old names to new ones."""
        changes: dict[str, Any] = {}
        for setting, value in self.settings.items():
            if setting == "array" and value in names:
                changes[setting] = names[value]
            if setting == "arrays":
                changes[setting] = tuple(names.get(name, name) for name in value)
        return replace(self, **changes)


class ImageAugmentation(Augmentation):
    """Changes one array of pictures, (channel, row, column) each.

    A subclass implements `change`, and `spec` if it changes the shape or the dtype.
    """

    array: str = "x"

    def apply(self, batch: Batch, draws: Draws) -> Batch:
        pictures = self.change(batch[self.array], draws)
        return {**batch, self.array: pictures}

    def specs(self, specs: Mapping[str, Spec]) -> dict[str, Spec]:
        name = type(self).__name__
        if self.array not in specs:
            arrays = ", ".join(specs)
            raise Deep500Error(
                f"{name} changes {self.array!r}, and the data have: {arrays}"
            )
        before = specs[self.array]
        if len(before.shape) != 3:
            raise Deep500Error(
                f"{name} changes pictures (channel, row, column), and {self.array!r} "
                f"has the shape {before.shape}"
            )
        return {**specs, self.array: self.spec(before)}

    def change(self, pictures: np.ndarray, draws: Draws) -> np.ndarray:
        raise lacking(self, "change")

    def spec(self, before: Spec) -> Spec:
        return before


# 2**64 divided by the golden ratio, as in SplitMix64
ODD = np.uint64(0x9E3779B97F4A7C15)


def _word(number: int) -> np.ndarray:
    return np.asarray([number], dtype=np.uint64)


def _mixed(bits: np.ndarray) -> np.ndarray:
    """The finaliser of SplitMix64: every bit of the result depends on every bit of the argument."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
