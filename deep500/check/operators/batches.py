"""Is a row the same, alone and among others? Only where the truth itself is made row by row."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import one_line, raise_if_mistake
from ..report import CheckResult
from .bounds import output_bounds, wider_output_bounds
from .differences import absolute
from .examples import XP, Example
from .formats import Array, Values, wide
from .runner import Runner


@dataclass(frozen=True)
class Choice:
    """Which rows of a batch are computed, and how that is called."""

    rows: tuple[int, ...]
    where: str

    def take(self, x: Array) -> Array:
        return x[list(self.rows)]


@dataclass(frozen=True)
class RowError:
    """How far a row was off at its worst element, and what was allowed there."""

    value: float = 0.0
    bound: float = 0.0
    where: str = ""

    @property
    def share(self) -> float:
        return self.value / self.bound if self.bound else self.value


def batch(runner: Runner, example: Example, outputs: Values) -> CheckResult:
    """A row computed alone, or in a batch twice as large, is the row of the whole batch."""
    batched_inputs = batched(example)
    if batched_inputs is None:
        return example.no_verdict("batch", "its results are not made row by row")
    same_bits = True
    parts = []
    for choice in choices(example):
        inputs = chosen(example.inputs, batched_inputs, choice)
        try:
            results = runner.run(example.operator, inputs)
        except Exception as error:  # loud, and so not a wrong answer
            raise_if_mistake(error)
            return example.no_verdict("batch", f"refused: {one_line(error)}")
        for y, whole in zip(results, outputs, strict=False):
            right = choice.take(whole)
            if y.shape != right.shape:
                return _wrong_shape(example, choice, y, right)
            same_bits &= y.tobytes() == right.tobytes()
        parts.append((choice, results))
    worst = _worst(parts, outputs, output_bounds(example))
    if worst.value > worst.bound:  # unless these moves were small by chance
        worst = _worst(parts, outputs, wider_output_bounds(example))
    text = "the same bits"
    if not same_bits:
        text = f"a row {worst.where} differs by {worst.value:.3g}, allowed {worst.bound:.3g}"
    ok = worst.value <= worst.bound
    return example.check("batch", ok, worst.value, worst.bound, text)


def _worst(
    parts: Sequence[tuple[Choice, Values]],
    outputs: Values,
    bounds: Sequence[Array],
) -> RowError:
    """Of all chosen rows, the difference that takes the largest share of its bound."""
    worst = RowError()
    for choice, results in parts:
        for y, whole, bound in zip(results, outputs, bounds, strict=False):
            right = choice.take(whole)
            error = _farthest(y, right, choice.take(bound), choice.where)
            if error.share > worst.share:
                worst = error
    return worst


def _wrong_shape(
    example: Example, choice: Choice, y: Array, right: Array
) -> CheckResult:
    actual = list(y.shape)
    expected = list(right.shape)
    text = f"a row {choice.where}: shape {actual} where {expected} is right"
    return example.check("batch", False, text=text)


def choices(example: Example) -> list[Choice]:
    """The first, middle and last row alone, and the batch twice."""
    n = example.outputs[0].shape[0]
    rows = sorted({0, n // 2, n - 1})
    alone = [Choice((row,), "alone") for row in rows]
    all_rows = tuple(range(n))
    twice = Choice(all_rows + all_rows, f"among {2 * n} rows")
    return [*alone, twice]


def batched(example: Example) -> list[int] | None:
    """The inputs whose first axis is a batch, as the truth shows; None where results are not made row by row."""
    outputs = example.outputs
    if example.operator.random or not _equal_rows(outputs):
        return None
    n = outputs[0].shape[0]
    fitting = []
    for i, x in enumerate(example.inputs):
        if isinstance(x, tuple | list) and list(x[:1]) == [n]:
            return None  # a static input says how many rows there are
        if n > 1 and isinstance(x, np.ndarray) and x.shape[:1] == (n,):
            fitting.append(i)
    for indices in (fitting, fitting[:1]):
        if indices and _by_rows(example, indices):
            return indices
    return None


def _equal_rows(outputs: Sequence[Array]) -> bool:
    rows = outputs[0].shape[:1]
    return bool(rows) and all(y.shape[:1] == rows for y in outputs)


def _by_rows(example: Example, batched_inputs: Sequence[int]) -> bool:
    """Whether the truth for chosen rows of these inputs is that of the whole batch."""
    inputs = wide(example.inputs)
    parts = choices(example)
    calls = [(chosen(inputs, batched_inputs, choice), XP) for choice in parts]
    try:
        results = example.truths(calls)
    except Exception as error:
        raise_if_mistake(error)
        # with attributes for the whole batch a part of it has no meaning
        return False
    pairs = zip(results, parts, strict=True)
    return all(_is_part(example, outputs, choice) for outputs, choice in pairs)


def _is_part(example: Example, results: Sequence[Array], choice: Choice) -> bool:
    """Whether these results are the chosen rows of the outputs, within their bounds."""
    bounds = output_bounds(example)
    for y, whole, bound in zip(results, example.outputs, bounds, strict=True):
        right = choice.take(whole)
        if y.shape != right.shape:
            return False
        apart = absolute(y, right)
        if not np.all(apart <= choice.take(bound)):
            return False
    return True


def chosen(inputs: Values, batched_inputs: Sequence[int], choice: Choice) -> tuple:
    """The inputs with the chosen rows of those that are batched."""
    values = list(inputs)
    for i in batched_inputs:
        values[i] = choice.take(values[i])
    return tuple(values)


def _farthest(part: Array, right: Array, bound: Array, where: str) -> RowError:
    """The difference that takes the largest share of its bound."""
    apart = absolute(part, right)
    if not apart.size or not np.any(apart):
        return RowError()
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(apart == 0, 0, apart / bound)
    ordered = np.where(np.isnan(apart), np.inf, share)
    place = int(np.argmax(ordered))
    value = np.nan_to_num(apart.reshape(-1)[place], nan=np.inf)
    allowed = bound.reshape(-1)[place]
    return RowError(float(value), float(allowed), where)
