"""Pictures that are laid over each other."""

from collections.abc import Mapping

import numpy as np

from ..contracts.augmentation import Augmentation, Batch, Draws, Spec
from ..errors import Deep500Error


class MixUp(Augmentation):
    """Mixes every example with another one of its batch: λ of itself, 1 - λ of the other; λ has a Beta distribution.

    The first of `arrays` is mixed. So are the others if they are real numbers; one of whole numbers (a label) is taken
    from the example itself with probability λ and from the other one otherwise, so that the expected cross-entropy
    is that of the mixed label. The other example depends on which examples are in the batch.
    """

    alpha: float = 0.2
    arrays: tuple[str, ...] = ("x", "label")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.alpha > 0 or not self.arrays:
            raise Deep500Error(
                f"MixUp has alpha {self.alpha} and arrays {self.arrays}: alpha is above 0, and there is an "
                "array"
            )

    def apply(self, batch: Batch, draws: Draws) -> Batch:
        numbers = draws.uniform(3)
        shares = self._shares(numbers[:, 0])
        others = _next_in_random_order(numbers[:, 1])
        keeps = numbers[:, 2] < shares
        mixed = dict(batch)
        for name in self.arrays:
            values = batch[name]
            if values.dtype.kind == "f":
                mixed[name] = _mixture(values, values[others], shares)
            else:
                mixed[name] = _choice(values, values[others], keeps)
        return mixed

    def specs(self, specs: Mapping[str, Spec]) -> dict[str, Spec]:
        for name in self.arrays:
            if name not in specs:
                raise Deep500Error(
                    f"MixUp mixes {name!r}, and the data have: {', '.join(specs)}"
                )
        if specs[self.arrays[0]].dtype.kind != "f":
            raise Deep500Error(
                f"MixUp mixes real numbers, and {self.arrays[0]!r} holds {specs[self.arrays[0]].dtype}"
            )
        return dict(specs)

    def _shares(self, uniform: np.ndarray) -> np.ndarray:
        """Numbers with the distribution Beta(alpha, alpha), by its inverse."""
        from scipy.special import betaincinv

        return betaincinv(self.alpha, self.alpha, uniform)


def _next_in_random_order(numbers: np.ndarray) -> np.ndarray:
    """For every example another one: the next when they are sorted by these numbers."""
    order = np.argsort(numbers, kind="stable")
    others = np.empty_like(order)
    others[order] = np.roll(order, -1)
    return others


def _mixture(values: np.ndarray, others: np.ndarray, shares: np.ndarray) -> np.ndarray:
    shape = (-1, *[1] * (values.ndim - 1))
    weights = shares.astype(values.dtype).reshape(shape)
    return others + weights * (values - others)


def _choice(values: np.ndarray, others: np.ndarray, keeps: np.ndarray) -> np.ndarray:
    shape = (-1, *[1] * (values.ndim - 1))
    return np.where(keeps.reshape(shape), values, others)
