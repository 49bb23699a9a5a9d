"""What training steps have in common whose bits do not depend on how many ranks share the batch."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..contracts.executor import Executor, TrainingStep, Values
from ..contracts.leaves import Leaves
from ..contracts.optimizer import Optimizer
from ..contracts.transport import Program
from ..reductions.fixed_point import write_values
from .reproducible_checks import check_executor
from .whole_numbers import Reduce, parts_to_send

# called with the name of a gradient, the rows of a leaf, and the leaf's arrays
Watch = Callable[[str, range, Mapping[str, np.ndarray]], None]


class Share(NamedTuple):
    """One rank's part of a batch: whole leaves; `size` is 0 if there are none."""

    batch: Mapping[str, Any]
    size: int
    first_row: int
    global_size: int


class ReproducibleStep(TrainingStep):
    """A backprop whose gradients are added over leaves as whole numbers, and an update.

    `program(share, reduce)` is the backprop of one rank; `reduce` adds arrays over ranks. As a step of its own it is
    the only rank.
    """

    # computes leaves in the reverse order, which must not matter
    backwards = False
    watch: Watch | None = None

    def __init__(
        self, executor: Executor, optimizer: Optimizer, leaves: Leaves, y: str
    ):
        super().__init__(executor, optimizer, y)
        check_executor(executor)
        self.leaves = leaves
        self._is_checked = False

    def __call__(self, inputs: Mapping[str, Any], first_row: int = 0) -> Values:
        if not self._is_checked:
            self._is_checked = True
            if rows_of(inputs) > self.leaves.rows:
                self._check_examples_apart(inputs, first_row)
        outputs = self.backprop(inputs, first_row)
        self.update()
        return outputs

    def backprop(self, inputs: Mapping[str, Any], first_row: int = 0) -> Values:
        rows = rows_of(inputs)
        share = Share(inputs, rows, first_row, rows)
        return value_of(self.program(share, lambda arrays: nothing()))

    @abstractmethod
    def program(
        self, share: Share, reduce: Reduce, bucket_bytes: int | None = None
    ) -> Program:
        """Backprop of a share; the value is the outputs, with the loss of the whole batch."""

    @abstractmethod
    def _check_examples_apart(self, inputs: Mapping[str, Any], first_row: int) -> None:
        """Raise Unsupported if an operator but a batch normalisation mixes the examples of a batch."""

    def _finish(
        self,
        totals: Mapping[str, np.ndarray],
        loss: np.ndarray,
        reduce: Reduce,
        bucket_bytes: int | None,
    ) -> Program:
        """Add the gradients over ranks and hand them to the executor; the value is the loss."""
        parts = parts_to_send(self.executor, totals, bucket_bytes)
        yield from reduce([*parts, loss])
        gradients = {}
        for dtype, total in totals.items():
            gradients[dtype] = np.empty(total.size, dtype)
            write_values(total, self.leaves.fraction, gradients[dtype])
        self.executor.load_flat_gradients(gradients)
        self._has_gradients = True
        value = np.empty(1, np.float32)
        write_values(loss, self.leaves.fraction, value)
        return value.reshape(())


def rows_of(inputs: Mapping[str, Any]) -> int:
    return len(next(iter(inputs.values())))


def value_of(program: Program) -> Any:
    """The value of a program that yields nothing."""
    try:
        next(program)
    except StopIteration as end:
        return end.value
    raise AssertionError


def nothing() -> Program:
    yield from ()
