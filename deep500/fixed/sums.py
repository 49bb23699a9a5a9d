"""Adds the gradients of parameters over leaves of a batch, as whole numbers."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np

from ..reductions.fixed_point import term_limit
from .library import call


@dataclass(frozen=True)
class Part:
    """Some examples of a batch of `examples`, in leaves of `leaf`."""

    start: int
    stop: int
    leaf: int
    examples: int

    def rows(self, x: np.ndarray) -> np.ndarray:
        """The rows of these examples; an array may have several for each."""
        each = self.each(x)
        return x[self.start * each : self.stop * each]

    def each(self, x: np.ndarray) -> int:
        """The rows of an example."""
        return len(x) // max(self.examples, 1)

    def leaves(self) -> Iterator["Part"]:
        """Every leaf by itself."""
        for start in range(self.start, self.stop, self.leaf):
            stop = min(start + self.leaf, self.stop)
            yield Part(start, stop, self.leaf, self.examples)


@dataclass
class Target:
    """Whole numbers `total` that stand for floats times `scale`.

    `beyond` becomes the largest float that was not below the limit, or NaN.
    """

    total: np.ndarray
    scale: float
    limit: float
    beyond: np.ndarray = field(default_factory=lambda: np.zeros(1))

    def transposed(self, order: tuple[int, ...]) -> "Target":
        """The same numbers with their axes in another order."""
        total = self.total.transpose(order)
        return Target(total, self.scale, self.limit, self.beyond)

    def narrowed(self, terms: int) -> "Target":
        """The same numbers with room for so many terms at least."""
        return replace(self, limit=min(self.limit, term_limit(terms)))

    @property
    def arguments(self) -> tuple:
        """The last arguments of a kernel that adds."""
        return self.scale, self.limit, self.total, self.beyond

    def add_rows(
        self, x: np.ndarray, y: np.ndarray | None = None, leaf: int = 1
    ) -> None:
        """Add the rows of x, times those of y, over leaves of so many rows."""
        x = np.ascontiguousarray(x)
        if y is not None:
            y = np.ascontiguousarray(y)
        call("leaf_sums", len(x), leaf, self.total.size, x, y, *self.arguments)

    def add_channels(self, x: np.ndarray, y: np.ndarray | None, leaf: int) -> None:
        """Add (examples, channels, …), times y, for every channel over leaves of so many examples."""
        x = np.ascontiguousarray(x)
        if y is not None:
            y = np.ascontiguousarray(y)
        sizes = len(x), leaf, self.total.size, prod(x.shape[2:])
        call("channel_sums", *sizes, x, y, *self.arguments)

    def add_products(self, a: np.ndarray, b: np.ndarray, leaf: int) -> None:
        """Add a^T b over leaves of so many rows."""
        if not self.total.flags.c_contiguous:
            self.transposed((1, 0)).add_products(b, a, leaf)
            return
        a, b = _with_contiguous_rows(a), _with_contiguous_rows(b)
        sizes = len(a), leaf, a.shape[1], b.shape[1]
        steps = a.strides[0] // 4, b.strides[0] // 4
        call(
            "leaf_products",
            *sizes,
            a,
            steps[0],
            b,
            steps[1],
            *self.arguments,
        )

    def add_at(self, indices: np.ndarray, x: np.ndarray) -> None:
        """Add every row of x to the row of this index."""
        width = self.total[0].size
        indices = np.ascontiguousarray(indices, np.int64)
        x = np.ascontiguousarray(x)
        call("row_sums", indices.size, width, indices, x, *self.arguments)


def _with_contiguous_rows(x: np.ndarray) -> np.ndarray:
    return x if x.strides[1] == 4 else np.ascontiguousarray(x)
