"""Arrays against the truth: one check for several arrays, which names the first element that is wrong."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .bounds import gradient_bounds, output_bounds
from .differences import absolute
from .examples import Example, Reference
from .formats import FORMATS, cast, is_float
from .report import Check


@dataclass(frozen=True)
class Deviation:
    """How far one array is off at its worst element, what was allowed there, and what is wrong in words."""

    value: float = 0.0
    bound: float = 0.0
    fault: str = ""

    @property
    def share(self) -> float:
        return self.value / self.bound if self.bound else self.value


def check_outputs(
    operator: Any,
    inputs: Sequence[Any],
    got: Sequence[Any],
    reference: Reference | None = None,
) -> Check:
    """Whether these arrays are the operator's outputs for these inputs, within what rounding explains."""
    return output_check(
        Example(type(operator).__name__, operator, tuple(inputs), reference), got
    )


def output_check(example: Example, got: Sequence[Any], name: str = "forward") -> Check:
    """The outputs against the truth; a native kernel may return fewer than all."""
    names, bounds = (
        example.operator.result_names(len(example.outputs)),
        output_bounds(example),
    )
    found = [
        deviation(label, array, want, bound, example.dtype)
        for label, array, want, bound in zip(
            names, got, example.outputs, bounds, strict=False
        )
    ]
    check = joined(example, name, found)
    if check.ok and (text := _unbounded(example, bounds)):
        return example.check(
            name, None, check.value, check.bound, text, bool(example.regime)
        )
    return check


def _unbounded(example: Example, bounds: Sequence[np.ndarray]) -> str:
    """Where anything as large as the values would pass there is no verdict; says so in words."""
    for want, bound in zip(example.outputs, bounds, strict=True):
        size = (
            np.abs(np.where(np.isfinite(want), want, 0))
            if is_float(want)
            else np.zeros(0)
        )
        largest, least = (
            float(np.max(size, initial=0)),
            float(np.min(bound, initial=np.inf)),
        )
        if least >= largest > FORMATS[example.dtype].tiny:
            return (
                f"unbounded: rounding explains differences of {least:.3g}, and no value is larger "
                f"than {largest:.3g}"
            )
    return ""


def gradient_check(
    example: Example, got: Sequence[Any], name: str = "gradient"
) -> Check:
    """The gradients against the formula's, one for every input (None: there is none)."""
    found = []
    for i, (g, want, bound) in enumerate(
        zip(got, example.gradients, gradient_bounds(example), strict=True)
    ):
        label = f"gradient by {example.input_name(i)}"
        if g is None or want is None or bound is None:
            fault = (
                ""
                if g is None and want is None
                else f"{label} is {'missing' if g is None else 'not declared'}"
            )
            found.append(Deviation(fault=fault))
        else:
            found.append(
                _kind_fault(label, g, want.shape, example.dtype)
                or deviation(label, g, want, bound, example.dtype)
            )
    return joined(example, name, found)


def shape_check(example: Example, got: Sequence[Any]) -> Check:
    """Shapes and dtypes of the outputs against the truth and against what infer foretold."""
    inferred = example.operator.infer(*example.tensors)
    found = []
    for name, g, want, told in zip(
        example.operator.result_names(len(got)),
        got,
        example.outputs,
        inferred,
        strict=False,
    ):
        if tuple(told.shape) != want.shape and not example.operator.data_dependent:
            found.append(
                Deviation(
                    fault=f"{name}: infer foretells {list(told.shape)}, right is {list(want.shape)}"
                )
            )
        found.append(_kind_fault(name, g, want.shape, told.dtype) or Deviation())
    all_of_them = example.operator.variadic  # native kernels may leave some out
    if (
        not (len(example.outputs) if all_of_them else 1)
        <= len(got)
        <= len(example.outputs)
    ):
        found.append(
            Deviation(
                fault=f"{len(got)} outputs where there are {len(example.outputs)}"
            )
        )
    return joined(example, "shape", found, numbers=False)


def joined(
    example: Example, name: str, found: Sequence[Deviation], numbers: bool = True
) -> Check:
    """One check of several arrays: the first fault, and the worst value beside its bound."""
    worst = max(
        found,
        key=lambda d: np.inf if np.isnan(d.share) else d.share,
        default=Deviation(),
    )
    faults = [d.fault for d in found if d.fault]
    value, bound = (worst.value, worst.bound) if numbers else (None, None)
    return example.check(name, not faults, value, bound, faults[0] if faults else "")


def _kind_fault(
    name: str, got: Any, shape: tuple[int, ...], dtype: str
) -> Deviation | None:
    got = np.asarray(got)
    if got.shape == tuple(shape) and got.dtype.name == dtype:
        return None
    return Deviation(
        np.inf,
        0.0,
        f"{name}: {got.dtype.name}{list(got.shape)} where {dtype}{list(shape)} is right",
    )


def deviation(
    name: str, got: Any, want: np.ndarray, bound: np.ndarray, dtype: str
) -> Deviation:
    """The worst element; the first wrong one in words."""
    got = np.asarray(got)
    if got.dtype.kind in "OSUMm":
        return Deviation(
            np.inf, 0.0, f"{name}: {got.dtype.name} where numbers are right"
        )
    if got.shape != want.shape:
        return Deviation(
            np.inf,
            0.0,
            f"{name}: shape {list(got.shape)} where {list(want.shape)} is right",
        )
    if not want.size:
        return Deviation()
    apart = absolute(got, _representable(want, dtype))
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(apart == 0, 0.0, apart / bound)
    wrong = ~(share <= 1)  # a NaN is wrong
    at = int(np.argmax(np.where(np.isnan(share), np.inf, share)))
    text = _first(name, got, want, apart, bound, wrong) if wrong.any() else ""
    return Deviation(float(apart.reshape(-1)[at]), float(bound.reshape(-1)[at]), text)


def _representable(want: np.ndarray, dtype: str) -> np.ndarray:
    """The truth as the dtype can hold it: what is beyond its largest number is infinite."""
    if want.dtype.name not in FORMATS or FORMATS[dtype] is FORMATS["float64"]:
        return want
    with np.errstate(over="ignore"):
        return np.where(
            np.abs(want) > FORMATS[dtype].largest,
            cast((want,), dtype)[0].astype("float64"),
            want,
        )


def _first(
    name: str,
    got: np.ndarray,
    want: np.ndarray,
    apart: np.ndarray,
    bound: np.ndarray,
    wrong: np.ndarray,
) -> str:
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    at = f"[{', '.join(map(str, place))}]" if place else ""
    return (
        f"{name}{at}: got {_shown(got[place])}, want {_shown(want[place])}, difference {apart[place]:.3g}, allowed "
        f"{bound[place]:.3g} ({int(wrong.sum())} of {wrong.size} elements are wrong)"
    )


def _shown(value: Any) -> str:
    return f"{float(value):.9g}" if value.dtype.name in FORMATS else str(value)
