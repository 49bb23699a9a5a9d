"""Arrays against the truth: one check for several arrays, which names the first element that is wrong."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..report import CheckResult
from .bounds import (
    gradient_bounds,
    output_bounds,
    wider_gradient_bounds,
    wider_output_bounds,
)
from .differences import absolute
from .examples import Example, Reference
from .formats import (
    FORMATS,
    Array,
    Values,
    argmax,
    cast,
    is_float,
    largest_finite,
)


@dataclass(frozen=True)
class Deviation:
    """How far one array is off at its worst element, what was allowed there, and a description of the fault."""

    value: float = 0.0
    bound: float = 0.0
    fault: str = ""

    @property
    def share(self) -> float:
        """The share of the bound that the value takes; the value itself without a bound."""
        return self.value / self.bound if self.bound else self.value


def check_outputs(
    operator: Any,
    inputs: Values,
    got: Values,
    reference: Reference | None = None,
) -> CheckResult:
    """Whether these arrays are the operator's outputs for these inputs, within what rounding explains."""
    name = type(operator).__name__
    example = Example(name, operator, tuple(inputs), reference)
    return output_check(example, got)


def output_check(
    example: Example, outputs: Values, name: str = "forward"
) -> CheckResult:
    """The outputs against the truth; a native kernel may return fewer than all."""
    bounds = output_bounds(example)
    check = _output_check(example, outputs, name, bounds)
    if check.ok is False:  # unless these moves were small by chance
        bounds = wider_output_bounds(example)
        check = _output_check(example, outputs, name, bounds)
    if check.ok and (text := _unbounded(example, bounds)):
        decided = bool(example.regime)
        return example.check(name, None, check.value, check.bound, text, decided)
    return check


def _output_check(
    example: Example, outputs: Values, name: str, bounds: Sequence[Array]
) -> CheckResult:
    labels = example.operator.result_names(len(example.outputs))
    deviations = []
    for label, output, want, bound in zip(
        labels, outputs, example.outputs, bounds, strict=False
    ):
        deviations.append(deviation(label, output, want, bound, example.dtype))
    return joined(example, name, deviations)


def _unbounded(example: Example, bounds: Sequence[Array]) -> str:
    """Why there is no verdict, if an error as large as the values would pass; "" otherwise."""
    tiny = FORMATS[example.dtype].tiny
    for want, bound in zip(example.outputs, bounds, strict=True):
        if not is_float(want):
            continue
        largest = largest_finite(want)
        least = float(np.min(bound, initial=np.inf))
        if least >= largest > tiny:
            return (
                f"unbounded: rounding explains differences of {least:.3g}, and no value is larger "
                f"than {largest:.3g}"
            )
    return ""


def gradient_check(
    example: Example, gradients: Values, name: str = "gradient"
) -> CheckResult:
    """The gradients against the formula's, one for every input (None: there is none)."""
    bounds = gradient_bounds(example)
    check = _gradient_check(example, gradients, name, bounds)
    if check.ok is False:  # unless these moves were small by chance
        bounds = wider_gradient_bounds(example)
        check = _gradient_check(example, gradients, name, bounds)
    return check


def _gradient_check(
    example: Example,
    gradients: Values,
    name: str,
    bounds: Sequence[Array | None],
) -> CheckResult:
    deviations = []
    rows = zip(gradients, example.gradients, bounds, strict=True)
    for i, (gradient, want, bound) in enumerate(rows):
        label = f"gradient by {example.input_name(i)}"
        if gradient is None and want is None:
            deviations.append(Deviation())
        elif gradient is None:
            deviations.append(Deviation(fault=f"{label} is missing"))
        elif want is None or bound is None:
            deviations.append(Deviation(fault=f"{label} is not declared"))
        else:
            faults = _kind_faults(label, gradient, want.shape, example.dtype)
            if faults:
                deviations.append(_wrong_kind(faults[0]))
                continue
            worst = deviation(label, gradient, want, bound, example.dtype)
            deviations.append(worst)
    return joined(example, name, deviations)


def shape_check(example: Example, outputs: Values) -> CheckResult:
    """Shapes and dtypes of the outputs against the truth and against what infer foretold.

    It is called "dtype" if the shapes are right, and a dtype is not.
    """
    operator = example.operator
    inferred = operator.infer(*example.tensors)
    names = operator.result_names(len(outputs))
    right = example.outputs
    faults = []
    dtype_faults = []
    dtypes = _right_dtypes(example, [tensor.dtype for tensor in inferred])
    results = zip(names, outputs, right, inferred, dtypes, strict=False)
    for name, output, want, tensor, dtype in results:
        is_foretold = tuple(tensor.shape) == want.shape
        if not is_foretold and not operator.data_dependent:
            foretold = list(tensor.shape)
            actual = list(want.shape)
            faults.append(f"{name}: infer foretells {foretold}, right is {actual}")
        if np.shape(output) != want.shape:
            faults += _kind_faults(name, output, want.shape, dtype)
        else:
            dtype_faults += _kind_faults(name, output, want.shape, dtype)
    # native kernels may leave some out
    fewest = len(right) if operator.variadic else 1
    if not fewest <= len(outputs) <= len(right):
        faults.append(f"{len(outputs)} outputs where there are {len(right)}")
    if dtype_faults and not faults:
        return example.check("dtype", False, text=dtype_faults[0])
    return example.check("shape", not faults, text=faults[0] if faults else "")


def _right_dtypes(example: Example, foretold: list[str]) -> list[str]:
    """What infer foretells, or the dtype of the inputs where the reference keeps it."""
    dtypes = list(foretold)
    for i, dtype in enumerate(example.reference_dtypes[: len(dtypes)]):
        if dtype == example.dtype:
            dtypes[i] = dtype
    return dtypes


def joined(example: Example, name: str, deviations: Sequence[Deviation]) -> CheckResult:
    """One check of several arrays: the first fault, and the worst value with its bound."""
    faults = [deviation.fault for deviation in deviations if deviation.fault]
    text = faults[0] if faults else ""
    worst = max(deviations, key=_share, default=Deviation())
    return example.check(name, not faults, worst.value, worst.bound, text)


def _share(deviation: Deviation) -> float:
    """The share of the bound; a NaN counts as the worst."""
    share = deviation.share
    return np.inf if np.isnan(share) else share


def _kind_faults(
    name: str, output: Any, shape: tuple[int, ...], dtype: str
) -> list[str]:
    """What is wrong if the array has another shape or dtype; nothing if it has these."""
    array = np.asarray(output)
    if array.shape == tuple(shape) and array.dtype.name == dtype:
        return []
    actual = f"{array.dtype.name}{list(array.shape)}"
    right = f"{dtype}{list(shape)}"
    return [f"{name}: {actual} where {right} is right"]


def _wrong_kind(fault: str) -> Deviation:
    """The deviation of an array that cannot be compared."""
    return Deviation(np.inf, 0.0, fault)


def deviation(
    name: str, array: Any, want: Array, bound: Array, dtype: str
) -> Deviation:
    """The worst element, with a description of the first one that is wrong."""
    actual = np.asarray(array)
    if actual.dtype.kind in "OSUMm":
        return _wrong_kind(f"{name}: {actual.dtype.name} where numbers are right")
    if actual.shape != want.shape:
        shape = list(actual.shape)
        right = list(want.shape)
        return _wrong_kind(f"{name}: shape {shape} where {right} is right")
    if not want.size:
        return Deviation()
    apart = absolute(actual, _representable(want, dtype))
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(apart == 0, 0.0, apart / bound)
    wrong = ~(share <= 1)  # a NaN is wrong
    fault = ""
    if wrong.any():
        fault = _first_fault(name, actual, want, apart, bound, wrong)
    worst = argmax(share)
    value = float(apart.reshape(-1)[worst])
    allowed = float(bound.reshape(-1)[worst])
    return Deviation(value, allowed, fault)


def _representable(want: Array, dtype: str) -> Array:
    """The truth as the dtype can hold it: numbers beyond its largest become infinite."""
    if want.dtype.name not in FORMATS or dtype == "float64":
        return want
    with np.errstate(over="ignore"):
        [rounded] = cast((want,), dtype)
        is_beyond = np.abs(want) > FORMATS[dtype].largest
        return np.where(is_beyond, rounded.astype("float64"), want)


def _first_fault(
    name: str,
    actual: Array,
    want: Array,
    apart: Array,
    bound: Array,
    wrong: Array,
) -> str:
    """The first wrong element in words."""
    place = tuple(np.argwhere(wrong)[0].tolist())
    index = str(list(place)) if place else ""
    got_text = _shown(actual[place])
    want_text = _shown(want[place])
    difference = apart[place]
    allowed = bound[place]
    count = int(wrong.sum())
    return (
        f"{name}{index}: got {got_text}, want {want_text}, difference {difference:.3g}, allowed "
        f"{allowed:.3g} ({count} of {wrong.size} elements are wrong)"
    )


def _shown(value: Any) -> str:
    if value.dtype.name in FORMATS:
        return f"{float(value):.9g}"
    return str(value)
