"""Rounding inside of code that has no formula: C++, plain functions, native kernels.

What happens there cannot be seen, as in x · (1 + tanh x), whose terms cancel far left of 0 although x itself is
well-conditioned. C++ is compiled with numbers that are off at random; functions of NumPy arrays get arrays whose
operations are. Where neither is possible (a framework's function, C++ for one dtype), and where numbers leave these
arrays (a loop in Python, `np.vectorize`, a call into C), terms as large as the inputs together are taken to be rounded.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...contracts.framework import gradient_formula
from ...contracts.operator import Operator
from ...custom.cpp import CppOp
from ...errors import Deep500Error, Incomplete
from .formats import (
    FORMATS,
    Values,
    is_float,
    largest_finite,
    map_floats,
)

MANY_VALUES = 256  # of one output


def run(operator: Operator, xp: Any, inputs: Values) -> tuple:
    """The results of an operator over a namespace, with errors inside of its code if the namespace makes errors."""
    kept = _kept(xp, inputs)
    results = _perturbed(operator, xp, inputs, (), lambda: operator.run(xp, *kept))
    require_arrays(results, type(operator).__name__)
    return results


def derive(operator: Operator, xp: Any, inputs: Values, seeds: Values) -> list:
    """The same for its gradients."""
    kept = _kept(xp, inputs)
    kept_seeds = _kept(xp, seeds)
    return _perturbed(
        operator,
        xp,
        inputs,
        seeds,
        lambda: gradient_formula(xp, operator, kept, kept_seeds),
    )


def require_arrays(results: Any, name: str) -> None:
    """Raise a Deep500Error if a result is no array of numbers; of several, some may be left out."""
    several = results if isinstance(results, tuple | list) else (results,)
    lengths = {len(result) for result in several if isinstance(result, list)}
    if len(lengths) > 1:
        raise Deep500Error(
            f"{name} returns lists of different lengths: it has to return arrays of numbers"
        )
    for result in several:
        is_left_out = result is None and len(several) > 1
        array = np.asarray(result)
        if not is_left_out and array.dtype.kind in "OSUMm":
            value = array.item() if array.ndim == 0 else result
            kind = Incomplete if value is None else Deep500Error
            raise kind(
                f"{name} returns a {type(value).__name__}: it has to return arrays of numbers"
            )


def _kept(xp: Any, values: Values) -> Values:
    """The values, as arrays whose operations leave errors behind if the namespace makes errors."""
    noise = getattr(xp, "_noise", None)
    if noise is None:
        return values
    return map_floats(noise.keep, values)


def refer(reference: Callable[..., Any], xp: Any, inputs: Values) -> Any:
    """The results of a function of NumPy arrays, with errors inside of it if the namespace makes errors."""
    noise = getattr(xp, "_noise", None)
    if noise is None:
        results = reference(*inputs)
        function = getattr(reference, "function", reference)
        require_arrays(results, getattr(function, "__name__", "it"))
        return results
    low = getattr(reference, "shaken", None)
    if low:
        return low(noise, inputs)
    return with_errors_inside(reference, noise, inputs)


def with_errors_inside(function: Callable[..., Any], noise: Any, inputs: Values) -> Any:
    """The results of a function of NumPy arrays whose operations are off; shaken if its numbers leave these arrays."""
    noise.seen = noise.leaked = False
    try:
        results = function(*map_floats(noise.keep, inputs))
    except Exception:  # it takes NumPy's own class alone, as Numba does
        results = function(*inputs)
        noise.leaked = True
    several = results if isinstance(results, tuple | list) else (results,)
    if noise.seen and not noise.leaked and noise.has_made(several):
        return results
    return shaken([np.asarray(y) for y in several], noise, inputs)


def _perturbed(
    operator: Operator,
    xp: Any,
    inputs: Values,
    seeds: Values,
    call: Callable[[], Any],
) -> Any:
    noise = getattr(xp, "_noise", None)
    if noise is None or operator.adapted is None:
        return call()
    compiled = operator.adapted
    if not isinstance(compiled, CppOp):
        noise.seen = noise.leaked = False
        results = call()
        if noise.seen and not noise.leaked:
            return results
        return shaken(results, noise, inputs, seeds)
    if not compiled.can_be_perturbed:
        return shaken(call(), noise, inputs, seeds)
    with compiled.perturbed(noise.number, FORMATS[noise.dtype].fraction):
        return call()


def shaken_by_evaluation(
    results: Sequence[Any], rounded: Sequence[Any], noise: Any, inputs: Values
) -> tuple:
    """Results that are off by half of what an evaluation in float32 was seen to be off anywhere.

    By half a unit of rounding of the largest result at least, by a unit of the inputs together at most. A result of a
    few values shows too little of what rounding does: it is off by the latter.
    """
    most = noise.eps * _size(inputs)
    moved = []
    for exact, narrow in zip(results, rounded, strict=True):
        size = most
        if _shows_rounding(exact, narrow):
            seen = largest_finite(exact - narrow.astype("float64"))
            least = noise.eps * largest_finite(exact)
            size = min(most, max(seen, least) / 2)
        moved.append(_off(exact, noise, size))
    return tuple(moved)


def _shows_rounding(exact: Any, rounded: Any) -> bool:
    """Whether these are float32 results of so many values that the largest error among them says something."""
    if rounded.dtype != np.float32 or rounded.shape != exact.shape:
        return False
    return len(np.unique(exact)) >= MANY_VALUES


def _off(y: Any, noise: Any, size: float) -> Any:
    """The floats, each off by this size up or down; others as they are."""
    if not is_float(y):
        return y
    signs = 1 - 2 * noise.draw.integers(0, 2, y.shape, "int8")
    return y + size * signs


def shaken(
    results: Sequence[Any], noise: Any, inputs: Values, seeds: Values = ()
) -> Any:
    """Results that are off by a unit of rounding of the largest inputs together (of 1 at least, for gradients)."""
    size = _size(inputs)
    if seeds:
        size = max(1.0, size) * _size(seeds)

    def off(y: Any) -> Any:
        return _off(y, noise, noise.eps * size)

    moved = map_floats(off, results)
    return list(moved) if isinstance(results, list) else moved


def _size(values: Values) -> float:
    """The sum of the largest magnitudes of the floats."""
    floats = [np.asarray(x) for x in values if is_float(x)]
    return sum(map(largest_finite, floats))
