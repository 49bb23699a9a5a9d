"""The promises of an operator, each tested on one example: what is computed, and how it treats memory and batches."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...contracts.framework import Framework
from ...contracts.operator import Operator
from ...custom.operators import Custom
from ...errors import Deep500Error, Unsupported
from .bounds import output_bounds
from .comparing import gradient_check, output_check, shape_check
from .derivatives import autodiff, difference_check
from .differences import absolute
from .examples import Example
from .formats import is_float, wide
from .report import Check

RUNS = 4
MISSING = (
    "not implemented",
    "nsupported dtype",
    "doesn't support tensors of type",
    "Expected both inputs to be Half",
    "not in the list of allowed values",
    "Could not find device",
)  # how PyTorch and TensorFlow say it
NAMES = (
    "shape",
    "forward",
    "gradient",
    "autodiff",
    "differences",
    "determinism",
    "batch",
    "aliasing",
    "inputs",
)


@dataclass(frozen=True)
class Subject:
    """What is checked: operators as a framework runs them."""

    framework: Framework

    def run(self, operator: Operator, inputs: Sequence[Any]) -> list[np.ndarray]:
        return self.framework.evaluate(operator, inputs)

    def gradient(
        self, operator: Operator, inputs: Sequence[Any], seeds: Sequence[Any]
    ) -> list[np.ndarray | None]:
        return self.framework.gradient(operator, inputs, seeds)

    def autodiff(self, example: Example) -> list[np.ndarray | None] | None:
        return autodiff(self.framework, example)


def checks(subject: Subject, example: Example) -> Iterator[Check]:
    """Every promise in turn; after a call that fails only that is told."""
    try:
        got = subject.run(example.operator, fresh(example.inputs))
    except Exception as error:  # the code of a user or a framework may raise anything
        yield failure(example, "forward", error)
        return
    yield shape_check(example, got)
    forward = output_check(example, got)
    alone = isinstance(example.operator, Custom) and example.reference is None and forward.ok
    yield (
        replace(forward, text="against its own code in float64: give a reference")
        if alone
        else forward
    )
    for name, check in (
        ("gradient", gradient),
        ("autodiff", by_itself),
        ("differences", slopes),
        ("determinism", determinism),
        ("batch", batch),
        ("aliasing", aliasing),
        ("inputs", unchanged),
    ):
        yield attempted(name, check, subject, example, got)


def attempted(
    name: str, check: Callable[..., Check], subject: Subject, example: Example, got: Sequence[Any]
) -> Check:
    try:
        return check(subject, example, got)
    except Exception as error:
        return failure(example, name, error)


def failure(example: Example, name: str, error: Exception) -> Check:
    """What is not offered does not apply; every other exception is wrong."""
    offered = not isinstance(error, Unsupported | NotImplementedError) and not any(
        w in str(error) for w in MISSING
    )
    said = next(iter(str(error).strip().splitlines()), "")
    text = said if isinstance(error, Deep500Error) else f"{type(error).__name__}: {said}"
    return Check(name, False if offered else None, None, None, text, example.dtype, example.name)


def gradient(subject: Subject, example: Example, got: Sequence[Any]) -> Check:
    """The framework's run of the derivative against the derivative in float64."""
    if reason := _no_derivative(example):
        return _beside(example, "gradient", reason)
    return gradient_check(
        example, subject.gradient(example.operator, fresh(example.inputs), fresh(example.seeds))
    )


def by_itself(subject: Subject, example: Example, got: Sequence[Any]) -> Check:
    """The framework's own differentiation of its kernel against the derivative in float64."""
    if reason := _no_derivative(example):
        return _beside(example, "autodiff", reason)
    if subject.framework.kernel(example.operator, inputs=example.inputs)[1] != "native":
        return _beside(example, "autodiff", "the framework has no kernel of its own for it")
    found = subject.autodiff(example.as_native)
    if found is None:
        return _beside(
            example, "autodiff", f"{subject.framework.name} does not differentiate by itself"
        )
    return gradient_check(example.as_native, found, "autodiff")


def slopes(subject: Subject, example: Example, got: Sequence[Any]) -> Check:
    """The derivative in float64 against central differences; a function without one is differentiated for it."""
    if example.dtype != "float64":
        return _beside(example, "differences", "made in float64 alone")
    if not example.floats or not any(map(is_float, example.outputs)):
        return _beside(example, "differences", "integers and booleans have no derivative")
    if example.operator.differentiable:
        return difference_check(example, example.gradients)
    found = subject.autodiff(example) if example.reference else None
    if found is None:
        return _beside(example, "differences", "it declares no derivative")
    return difference_check(example, found)


def determinism(subject: Subject, example: Example, got: Sequence[Any]) -> Check:
    """The same bits in every run, of results and of gradients."""
    runs = [subject.run(example.operator, fresh(example.inputs)) for _ in range(RUNS)]
    value, text = _changed(runs[0], runs[1:], "outputs")
    if not value and _differentiates(example):
        grads = [
            subject.gradient(example.operator, fresh(example.inputs), fresh(example.seeds))
            for _ in range(2)
        ]
        value, text = _changed(grads[0], grads[1:], "gradients")
    return Check(
        "determinism",
        not value,
        value,
        0.0,
        text or f"the same bits in {RUNS} runs",
        example.dtype,
        example.name,
    )


def aliasing(subject: Subject, example: Example, got: Sequence[Any]) -> Check:
    """A result stays what it was when other inputs follow, and they get their own; no element is left unwritten."""
    first = subject.run(example.operator, fresh(example.inputs))
    kept = [np.array(y) for y in first]
    poison(first)
    second = subject.run(example.operator, fresh(example.other.inputs))
    value, text = _changed(kept, [first], "earlier results, by a later call")
    check = output_check(example.other, second, "aliasing")
    if value or (
        not check.ok and not output_check(example, got).ok
    ):  # a wrong forward is told already
        return Check("aliasing", not value, value, 0.0, text, example.dtype, example.name)
    return replace(check, text=f"in a second call, {check.text}" if check.text else "")


def unchanged(subject: Subject, example: Example, got: Sequence[Any]) -> Check:
    """The inputs, and the gradients that come in, are the same bytes after the call."""
    inputs, seeds = fresh(example.inputs), fresh(example.seeds)
    subject.run(example.operator, inputs)
    value, text = _changed(_arrays(example.inputs), [_arrays(inputs)], "inputs, by the call")
    if not value and _differentiates(example):
        subject.gradient(example.operator, inputs, seeds)
        given = _arrays((*example.inputs, *example.seeds))
        value, text = _changed(
            given, [_arrays((*inputs, *seeds))], "inputs, by the call of the gradient"
        )
    return Check("inputs", not value, value, 0.0, text, example.dtype, example.name)


def batch(subject: Subject, example: Example, got: Sequence[Any]) -> Check:
    """A row computed alone, or in a batch twice as large, is the row of the whole batch."""
    rows = batched(example)
    if rows is None:
        return _beside(example, "batch", "its results are not made row by row")
    worst, bitwise = (0.0, 0.0, ""), True
    for choice in choices(example):
        made = subject.run(example.operator, fresh(_chosen(example.inputs, rows, choice)))
        for y, whole, bound in zip(made, got, output_bounds(example), strict=False):
            right, within = choice.take(whole), choice.take(bound)
            if y.shape != right.shape:
                return Check(
                    "batch",
                    False,
                    None,
                    None,
                    f"a row {choice.where}: shape {list(y.shape)} where "
                    f"{list(right.shape)} is right",
                    example.dtype,
                    example.name,
                )
            bitwise &= y.tobytes() == right.tobytes()
            worst = max(
                worst,
                (*_farthest(y, right, within), choice.where),
                key=lambda found: found[0] / found[1] if found[1] else found[0],
            )
    value, limit, where = worst
    text = (
        "the same bits" if bitwise else f"a row {where} differs by {value:.3g}, allowed {limit:.3g}"
    )
    return Check("batch", value <= limit, value, limit, text, example.dtype, example.name)


@dataclass(frozen=True)
class Choice:
    """Which rows of a batch are computed, and how that is called."""

    rows: tuple[int, ...]
    where: str

    def take(self, x: np.ndarray) -> np.ndarray:
        return x[list(self.rows)]


def choices(example: Example) -> list[Choice]:
    n = example.outputs[0].shape[0]
    return [
        *(Choice((r,), "alone") for r in sorted({0, n // 2, n - 1})),
        Choice((*range(n), *range(n)), f"among {2 * n} rows"),
    ]


def batched(example: Example) -> list[int] | None:
    """The inputs whose first axis is a batch, as the truth shows; None where results are not made row by row."""
    outputs = example.outputs
    if example.operator.random or any(
        not y.ndim or y.shape[0] != outputs[0].shape[0] for y in outputs
    ):
        return None
    n, inputs = outputs[0].shape[0], example.inputs
    if any(isinstance(x, tuple | list) and [*x[:1]] == [n] for x in inputs):
        return None  # a static input says how many rows there are
    fitting = [
        i
        for i, x in enumerate(inputs)
        if isinstance(x, np.ndarray) and x.ndim and x.shape[0] == n > 1
    ]
    return next(
        (
            rows
            for rows in (fitting, fitting[:1])
            if rows and all(_by_rows(example, rows, choice) for choice in choices(example))
        ),
        None,
    )


def _by_rows(example: Example, rows: Sequence[int], choice: Choice) -> bool:
    try:
        made = example.truth(_chosen(wide(example.inputs), rows, choice))
    except Exception:  # with attributes for the whole batch a part of it has no meaning
        return False
    parts = [
        (y, choice.take(whole), choice.take(bound))
        for y, whole, bound in zip(made, example.outputs, output_bounds(example), strict=True)
    ]
    return all(
        y.shape == right.shape and bool(np.all(absolute(y, right) <= bound))
        for y, right, bound in parts
    )


def _chosen(inputs: Sequence[Any], rows: Sequence[int], choice: Choice) -> tuple:
    return tuple(choice.take(x) if i in rows else x for i, x in enumerate(inputs))


def _farthest(part: np.ndarray, right: np.ndarray, bound: np.ndarray) -> tuple[float, float]:
    """The difference that takes most of its bound, and that bound."""
    apart = absolute(part, right)
    if not apart.size or not np.any(apart):
        return 0.0, 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        at = int(
            np.argmax(np.where(np.isnan(apart), np.inf, np.where(apart == 0, 0, apart / bound)))
        )
    return float(np.nan_to_num(apart.reshape(-1)[at], nan=np.inf)), float(bound.reshape(-1)[at])


def fresh(values: Sequence[Any]) -> tuple:
    """New arrays with the same values: no call sees memory that another had."""
    return tuple(x.copy() if isinstance(x, np.ndarray) else x for x in values)


def poison(results: Sequence[np.ndarray]) -> None:
    """Leave NaN in the memory that the next results may be given: what is not written then shows."""
    for y in results:
        junk = [
            np.full(y.nbytes, 0xFF, "uint8") for _ in range(16)
        ]  # all bits set is a NaN in every format
        del junk


def _arrays(values: Sequence[Any]) -> list[np.ndarray]:
    return [x for x in values if isinstance(x, np.ndarray)]


def _changed(right: Sequence[Any], runs: Sequence[Sequence[Any]], what: str) -> tuple[float, str]:
    """How many elements have other bits in any run, and the first of them in words."""
    total, text = 0, ""
    for run in runs:
        for k, (a, b) in enumerate(zip(right, run, strict=True)):
            if a is None or b is None or a.tobytes() == b.tobytes():
                continue
            differs = (
                ~((a == b) | ((a != a) & (b != b)))
                if a.shape == b.shape
                else np.ones(a.shape, bool)
            )
            total += int(differs.sum()) or 1
            place = (
                tuple(int(i) for i in np.argwhere(differs)[0])
                if a.shape == b.shape and differs.any()
                else ()
            )
            text = (
                text
                or f"{what} changed: number {k} at {list(place)} was {a[place]}, became {b[place]}"
            )
    return float(total), text


def _no_derivative(example: Example) -> str:
    if not example.operator.differentiable:
        return "it declares no derivative"
    return "" if example.smooth else "integers and booleans have no derivative"


def _differentiates(example: Example) -> bool:
    """Whether its derivative can be asked for; one that fails is told by the check of the gradient."""
    try:
        return not _no_derivative(example)
    except Exception:
        return False


def _beside(example: Example, name: str, reason: str) -> Check:
    return Check(name, None, None, None, reason, example.dtype, example.name)
