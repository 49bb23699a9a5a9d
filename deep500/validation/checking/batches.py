"""Is a row the same, alone and among others? Only where the truth itself is made row by row."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import one_line
from .bounds import output_bounds
from .differences import absolute
from .examples import XP, Example
from .formats import wide
from .report import Check


@dataclass(frozen=True)
class Choice:
    """Which rows of a batch are computed, and how that is called."""

    rows: tuple[int, ...]
    where: str

    def take(self, x: np.ndarray) -> np.ndarray:
        return x[list(self.rows)]


@dataclass(frozen=True)
class Part:
    """How far a row was off at its worst element, and what was allowed there."""

    value: float = 0.0
    bound: float = 0.0
    where: str = ""

    @property
    def share(self) -> float:
        return self.value / self.bound if self.bound else self.value


def batch(dock: Any, example: Example, got: Sequence[Any]) -> Check:
    """A row computed alone, or in a batch twice as large, is the row of the whole batch."""
    rows = batched(example)
    if rows is None:
        return example.no_verdict("batch", "its results are not made row by row")
    worst, same_bits = Part(), True
    for choice in choices(example):
        try:
            made = dock.run(example.operator, chosen(example.inputs, rows, choice))
        except Exception as error:  # loud, and so not a wrong answer
            return example.no_verdict("batch", f"refused: {one_line(error)}")
        for y, whole, bound in zip(made, got, output_bounds(example), strict=False):
            right = choice.take(whole)
            if y.shape != right.shape:
                shapes = f"shape {list(y.shape)} where {list(right.shape)} is right"
                return example.check(
                    "batch", False, text=f"a row {choice.where}: {shapes}"
                )
            same_bits &= y.tobytes() == right.tobytes()
            part = _farthest(y, right, choice.take(bound), choice.where)
            worst = max(worst, part, key=lambda found: found.share)
    text = "the same bits"
    if not same_bits:
        text = f"a row {worst.where} differs by {worst.value:.3g}, allowed {worst.bound:.3g}"
    return example.check(
        "batch", worst.value <= worst.bound, worst.value, worst.bound, text
    )


def choices(example: Example) -> list[Choice]:
    n = example.outputs[0].shape[0]
    return [
        *(Choice((r,), "alone") for r in sorted({0, n // 2, n - 1})),
        Choice((*range(n), *range(n)), f"among {2 * n} rows"),
    ]


def batched(example: Example) -> list[int] | None:
    """The inputs whose first axis is a batch, as the truth shows; None where results are not made row by row."""
    outputs = example.outputs
    if example.operator.random or not _equal_rows(outputs):
        return None
    n, inputs = outputs[0].shape[0], example.inputs
    if any(isinstance(x, tuple | list) and [*x[:1]] == [n] for x in inputs):
        return None  # a static input says how many rows there are
    fitting = [
        i
        for i, x in enumerate(inputs)
        if isinstance(x, np.ndarray) and x.ndim and x.shape[0] == n > 1
    ]
    for rows in (fitting, fitting[:1]):
        if rows and _by_rows(example, rows):
            return rows
    return None


def _equal_rows(outputs: Sequence[np.ndarray]) -> bool:
    return all(y.ndim and y.shape[0] == outputs[0].shape[0] for y in outputs)


def _by_rows(example: Example, rows: Sequence[int]) -> bool:
    parts = choices(example)
    calls = [(chosen(wide(example.inputs), rows, choice), XP) for choice in parts]
    try:
        made = example.truths(calls)
    except Exception:  # with attributes for the whole batch a part of it has no meaning
        return False
    return all(
        _is_part(example, found, choice)
        for found, choice in zip(made, parts, strict=True)
    )


def _is_part(example: Example, made: Sequence[np.ndarray], choice: Choice) -> bool:
    for y, whole, bound in zip(
        made, example.outputs, output_bounds(example), strict=True
    ):
        right = choice.take(whole)
        if y.shape != right.shape or not np.all(
            absolute(y, right) <= choice.take(bound)
        ):
            return False
    return True


def chosen(inputs: Sequence[Any], rows: Sequence[int], choice: Choice) -> tuple:
    return tuple(choice.take(x) if i in rows else x for i, x in enumerate(inputs))


def _farthest(
    part: np.ndarray, right: np.ndarray, bound: np.ndarray, where: str
) -> Part:
    """The difference that takes most of its bound."""
    apart = absolute(part, right)
    if not apart.size or not np.any(apart):
        return Part()
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(apart == 0, 0, apart / bound)
    at = int(np.argmax(np.where(np.isnan(apart), np.inf, share)))
    value = float(np.nan_to_num(apart.reshape(-1)[at], nan=np.inf))
    return Part(value, float(bound.reshape(-1)[at]), where)
