"""The convolution contract: ways to compute a convolution of two axes and its gradients, in memory that is counted."""

import math
from abc import abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from ..definition import Definition

DIRECTIONS = ("forward", "data", "filter")


@dataclass(frozen=True)
class ConvolutionProblem:
    """A convolution as ONNX defines it (a cross-correlation): its sizes, and nothing about how it is computed."""

    batch: int
    channels: int
    height: int
    width: int
    filters: int
    kernel: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)  # top, left, bottom, right
    dilations: tuple[int, int] = (1, 1)
    groups: int = 1
    dtype: str = "float32"

    @property
    def input_shape(self) -> tuple[int, int, int, int]:
        return self.batch, self.channels, self.height, self.width

    @property
    def filter_shape(self) -> tuple[int, int, int, int]:
        return self.filters, self.channels // self.groups, *self.kernel

    @property
    def out_shape(self) -> tuple[int, int, int, int]:
        top, left, bottom, right = self.pads
        rows = self._positions(0, self.height + top + bottom)
        columns = self._positions(1, self.width + left + right)
        return self.batch, self.filters, rows, columns

    def _positions(self, axis: int, padded: int) -> int:
        """How often the kernel fits on an axis of this length."""
        extent = self.dilations[axis] * (self.kernel[axis] - 1) + 1
        return max(0, (padded - extent) // self.strides[axis] + 1)

    def shapes(self, direction: str) -> tuple[tuple[int, ...], ...]:
        """The shapes of a, b and out: x and w give y, dy and w give dx, x and dy give dw."""
        if direction == "forward":
            return self.input_shape, self.filter_shape, self.out_shape
        if direction == "data":
            return self.out_shape, self.filter_shape, self.input_shape
        return self.input_shape, self.out_shape, self.filter_shape

    def with_batch(self, batch: int) -> "ConvolutionProblem":
        return replace(self, batch=batch)

    @property
    def direct_operations(self) -> int:
        """Two for every product of an element of a padded input with one of a filter; the same in all directions."""
        return 2 * math.prod(self.out_shape) * math.prod(self.filter_shape[1:])


class ConvolutionAlgorithm(Definition):
    """A way to compute a convolution, in three directions: y from x and w, dx from dy and w, dw from x and dy.

    refusal(problem, direction)      Why it cannot compute this, in words; None if it can.
    workspace(problem, direction, threads)   The bytes that `run` uses beside its arguments, exactly.
    operations(problem, direction)   The additions and multiplications that it does (a fused one counts two).
    bound(problem, direction, a, b)  How far each element of the result may be from the exact one.
    run(…)                           Computes `out`, or adds to it with `accumulate`. All arrays are contiguous,
        `workspace` is an array of bytes, of at least the declared number, which may start anywhere.
    spreads                          Whether one NaN or infinity may reach elements that do not depend on it.
    """

    @property
    def spreads(self) -> bool:
        return False

    @abstractmethod
    def refusal(self, problem: ConvolutionProblem, direction: str) -> str | None: ...

    @abstractmethod
    def workspace(
        self, problem: ConvolutionProblem, direction: str, threads: int = 1
    ) -> int: ...

    @abstractmethod
    def operations(self, problem: ConvolutionProblem, direction: str) -> int: ...

    @abstractmethod
    def bound(
        self, problem: ConvolutionProblem, direction: str, a: np.ndarray, b: np.ndarray
    ) -> np.ndarray: ...

    @abstractmethod
    def run(
        self,
        problem: ConvolutionProblem,
        direction: str,
        a: np.ndarray,
        b: np.ndarray,
        out: np.ndarray,
        workspace: np.ndarray | None = None,
        *,
        accumulate: bool = False,
        threads: int = 1,
    ) -> None: ...
