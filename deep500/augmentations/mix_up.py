"""Mixes pairs of examples."""

from collections.abc import Mapping

import numpy as np

from ..contracts.augmentation import Augmentation, Batch, Draws, Spec
from ..errors import Deep500Error


class MixUp(Augmentation):
    """Mixes every example with another one of its batch: λ of itself, 1 - λ of the other; λ has a Beta distribution.

    The first of `arrays` is mixed, and so are the others if they hold real numbers. An array of integers (a label) is
    taken from the example itself with probability λ and from the other one otherwise, so that the expected
    cross-entropy is that of the mixed label. The other example depends on which examples are in the batch.
    """

    alpha: float = 0.2
    arrays: tuple[str, ...] = ("x", "label")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.alpha > 0 or not self.arrays:
            raise Deep500Error(
                f"MixUp has alpha {self.alpha} and arrays {self.arrays}: "
                "alpha is above 0, and there is an array"
            )

    def apply(self, batch: Batch, draws: Draws) -> Batch:
        for_share, for_partner, for_choice = draws.uniform(3).T
        shares = self._shares(for_share)
        partners = _next_in_random_order(for_partner)
        keeps = for_choice < shares
        mixed = dict(batch)
        for name in self.arrays:
            values = batch[name]
            others = values[partners]
            if values.dtype.kind == "f":
                mixed[name] = _mixture(values, others, shares)
            else:
                mixed[name] = _choice(values, others, keeps)
        return mixed

    def specs(self, specs: Mapping[str, Spec]) -> dict[str, Spec]:
        for name in self.arrays:
            if name not in specs:
                present = ", ".join(specs)
                raise Deep500Error(
                    f"MixUp mixes {name!r}, and the data have: {present}"
                )
        first = self.arrays[0]
        dtype = specs[first].dtype
        if dtype.kind != "f":
            raise Deep500Error(f"MixUp mixes real numbers, and {first!r} holds {dtype}")
        return dict(specs)

    def _shares(self, uniform: np.ndarray) -> np.ndarray:
        """Numbers with the distribution Beta(alpha, alpha), by inverting its cumulative distribution function."""
        from scipy.special import betaincinv

        return betaincinv(self.alpha, self.alpha, uniform)


def _next_in_random_order(numbers: np.ndarray) -> np.ndarray:
    """The index of another example for each one: the next when they are sorted by these numbers."""
    order = np.argsort(numbers, kind="stable")
    partners = np.empty_like(order)
    partners[order] = np.roll(order, -1)
    return partners


def _mixture(values: np.ndarray, others: np.ndarray, shares: np.ndarray) -> np.ndarray:
    weights = _per_example(shares.astype(values.dtype), values)
    return others + weights * (values - others)


def _choice(values: np.ndarray, others: np.ndarray, keeps: np.ndarray) -> np.ndarray:
    return np.where(_per_example(keeps, values), values, others)


def _per_example(numbers: np.ndarray, values: np.ndarray) -> np.ndarray:
    """One number per example, reshaped so that it is broadcast over the values of the example."""
    ones = [1] * (values.ndim - 1)
    return numbers.reshape(-1, *ones)
