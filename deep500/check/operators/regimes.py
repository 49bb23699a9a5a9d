"""Harder inputs made from those of an example: scaled, shifted, tied, sorted, special, of other shapes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from ...errors import raise_if_mistake
from .bounds import depth
from .examples import XP, Example, generator
from .formats import (
    FORMATS,
    Array,
    Values,
    is_float,
    largest_magnitude,
    map_arrays,
    map_floats,
    wide,
)
from .subjects import first_line, is_compiled, is_ours

LARGER = 12_000  # elements of the largest input
SHARED = 100_000  # elements where threads share the work
COMPILED = 2_000_000  # the same for C++, whose races need more time to show
ROUND = (0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, -1.5)
SCALARS = "rank 0"  # NumPy's functions may return a scalar or an array for it
LARGE = ("scaled by", "shifted by")
SQUARE = 5
HUGE = 2.0**100
SKIPPED_ROUNDING = 64  # in roundings of the largest element
PROBES = 4  # elements that show whether an operator works element by element

Shape = tuple[int, ...]
Draw = np.random.Generator
Change = Callable[[Array, Draw], Array]
MakeInputs = Callable[[Example, Draw], tuple]
Reshape = Callable[[Shape], Shape]
Mask = Callable[[Array, Array], Array]


@dataclass(frozen=True)
class Regime:
    """A way to make other inputs from those of an example."""

    name: str
    inputs: MakeInputs
    derived: bool = True  # whether gradients are checked too
    flushed: bool = False  # whether denormals may be taken for zeros


def regimes(example: Example, free_rank: bool) -> Iterator[Regime]:
    """The regimes to try; `free_rank` says whether the operator takes inputs of any rank."""
    built_in = is_ours(example.operator)
    if example.floats:
        if built_in and not is_elementwise(example):
            yield from FINITE
        else:
            yield from VALUES
    elif any(map(_is_integer, example.inputs)):
        yield Regime("large integers", _large_integers, derived=False)
    # built-in operators have cases of many shapes
    if built_in or not example.regular:
        return
    yield from _shapes(example)
    if free_rank:
        yield from _ranks(example)


def in_regime(example: Example, regime: Regime) -> Example | str:
    """The example with inputs of this regime, or the reason why there is none."""
    draw = generator(example.name, regime.name, example.seed)
    with np.errstate(all="ignore"):
        inputs = regime.inputs(example, draw)
    if not example.domain.holds(inputs):
        return f"outside of its domain {example.domain}"
    harder = replace(example, inputs=inputs, regime=regime.name)
    # Terms as large as the inputs may cancel, as in x (1 + erf x).
    harder = replace(harder, slack=harder.largest)
    if regime in VALUES:
        harder = replace(harder, operations=depth(example))
    try:
        harder.operator.infer(*harder.tensors)
        _ = harder.outputs
    except Exception as error:  # a formula or a reference may raise anything
        raise_if_mistake(error)
        return f"not taken: {first_line(error)}"
    return harder


def shared_work(example: Example) -> Example | None:
    """The example with inputs so large that threads share the work; None if it has no larger inputs."""
    if not example.regular or not example.floats:
        return None
    elements = COMPILED if is_compiled(example.operator) else SHARED
    large = _sized("large", _larger(example, elements))
    return _example_in(example, large)


def in_named_regime(example: Example, name: str) -> Example | None:
    """The example in the regime of this name; None if there is none."""
    for regime in regimes(example, free_rank=False):
        if regime.name == name:
            return _example_in(example, regime)
    return None


def odd_shaped(example: Example) -> Example | None:
    """The example in another shape; None if there is none."""
    if not example.regular:
        return None
    return _example_in(example, _sized("odd sizes", _odd))


def _example_in(example: Example, regime: Regime) -> Example | None:
    harder = in_regime(example, regime)
    return harder if isinstance(harder, Example) else None


def forgiven(example: Example, outputs: list[Array]) -> list[Array]:
    """The outputs, with the truth in place of elements that differ from it but are as good.

    A NaN may spread, and an infinite sum may become a NaN, except element by element. A NaN or an infinity that meets
    only zeros, such as the padding of a convolution, may be skipped. For large finite inputs a slow, simple reference
    may overflow where a better operator does not.
    """
    if example.regime.startswith(LARGE):
        return without_overflow(example, outputs, example.outputs)
    outputs = _without_skipped(example, outputs)
    if _any_element(example, np.isnan):
        return _with_truth(outputs, example.outputs, _is_nan)
    if _any_element(example, np.isinf) and not is_elementwise(example):
        return _with_truth(outputs, example.outputs, _both_infinite)
    return outputs


def _any_element(example: Example, predicate: Callable[[Array], Array]) -> bool:
    """Whether the predicate holds for any element of the float inputs."""
    for i in example.floats:
        x = example.inputs[i].astype("float64")
        if predicate(x).any():
            return True
    return False


def _without_skipped(example: Example, outputs: list[Array]) -> list[Array]:
    """The outputs, with the truth in place of finite elements that do not depend on the inputs that are not finite."""
    if not any(map(_is_skipped_somewhere, outputs, example.outputs)):
        return outputs
    low, high = (
        example.truth(map_floats(_in_place_of_not_finite(value), wide(example.inputs)))
        for value in (-HUGE, HUGE)
    )
    replaced = list(outputs)
    for i, (y, want) in enumerate(zip(outputs, example.outputs, strict=False)):
        if not _is_skipped_somewhere(y, want):
            continue
        is_independent = (low[i] == high[i]) & (np.abs(low[i]) < HUGE)
        right = np.where(is_independent, low[i], 0)
        rounding = SKIPPED_ROUNDING * FORMATS[example.dtype].eps
        near = np.abs(y.astype("float64") - right) <= rounding * largest_magnitude(
            right
        )
        mask = is_independent & ~np.isfinite(want) & near
        replaced[i] = np.where(mask, want.astype(y.dtype), y)
    return replaced


def _is_skipped_somewhere(y: Array | None, want: Array | None) -> bool:
    """Whether an element is finite where the truth is not."""
    if y is None or want is None or not is_float(y) or y.shape != want.shape:
        return False
    return bool((np.isfinite(y.astype("float64")) & ~np.isfinite(want)).any())


def _in_place_of_not_finite(value: float) -> Callable[[Array], Array]:
    return lambda x: np.where(np.isfinite(x), x, value)


def without_overflow(example: Example, arrays: Values, right: Values) -> list[Any]:
    """The arrays, with the truth in place of infinities and NaNs where the dtype cannot hold the result."""
    largest = FORMATS[example.dtype].largest

    def as_good(y: Array, want: Array) -> Array:
        is_finite = np.isfinite(y)
        is_representable = np.abs(want) <= largest
        overflows = ~is_finite & ~is_representable
        better = is_finite & ~np.isfinite(want)
        return overflows | better

    return _with_truth(arrays, right, as_good)


def _with_truth(arrays: Values, right: Values, as_good: Mask) -> list[Any]:
    """The arrays, with the truth in place of the elements that are as good; without a truth they stay as they are."""
    replaced = list(arrays)
    pairs = zip(arrays, right, strict=False)
    for i, (y, want) in enumerate(pairs):
        if y is None or want is None:
            continue
        if not is_float(y) or y.shape != want.shape:
            continue
        with np.errstate(all="ignore"):
            mask = as_good(y.astype("float64"), want)
            truth = want.astype(y.dtype)
            replaced[i] = np.where(mask, truth, y)
    return replaced


def _is_nan(y: Array, want: Array) -> Array:
    return np.isnan(y)


def _both_infinite(y: Array, want: Array) -> Array:
    return ~np.isfinite(y) & ~np.isfinite(want)


def is_elementwise(example: Example) -> bool:
    """Whether every element of the only output follows from one element of every input."""
    output, *others = example.outputs
    if others or not output.size:
        return False
    if any(shape != output.shape for shape in _array_shapes(example)):
        return False
    draw = example.draw("places")
    places = draw.integers(0, output.size, PROBES)
    calls = []
    changed_places = []
    for i in example.floats:
        for place in map(int, places):
            spiked = _spiked(example, i, place)
            calls.append((spiked, XP))
            changed_places.append(place)
    results = example.truths(calls)
    for outputs, place in zip(results, changed_places, strict=True):
        moved = outputs[0] != output
        moved_elsewhere = np.delete(moved.reshape(-1), place)
        if np.any(moved_elsewhere):
            return False
    return True


def _spiked(example: Example, i: int, place: int) -> tuple:
    """The inputs in float64 with one element of one input changed."""
    changed = list(wide(example.inputs))
    # a flat view of a Fortran-ordered array would be a copy
    changed[i].flat[place] *= 1.5
    return tuple(changed)


# -- values


def _values(change: Change) -> MakeInputs:
    """Every float input changed, in its own dtype and shape."""

    def inputs(example: Example, draw: Draw) -> tuple:
        def changed(x: Array) -> Array:
            values = np.asarray(change(x, draw), x.dtype)
            return values.reshape(x.shape)

        return map_floats(changed, example.inputs)

    return inputs


def _one_of(value: float) -> MakeInputs:
    """One element of one input replaced."""

    def inputs(example: Example, draw: Draw) -> tuple:
        copies = map_arrays(np.ndarray.copy, example.inputs)
        filled = [i for i in example.floats if copies[i].size]
        if filled:
            chosen = copies[int(draw.choice(filled))]
            place = draw.integers(chosen.size)
            chosen.flat[place] = value
        return copies

    return inputs


def _rows_of_minus_infinity(example: Example, draw: Draw) -> tuple:
    """The first row of every input replaced, as a mask does it."""
    copies = map_arrays(np.ndarray.copy, example.inputs)
    for i in example.floats:
        x = copies[i]
        if x.size:
            last_axis = x.shape[-1:]
            rows = x.reshape(-1, *last_axis)
            rows[0] = -np.inf
    return copies


def _sprinkled(x: Array, draw: Draw, values: Sequence[float]) -> Array:
    """Some elements, at least one, replaced by these."""
    sprinkled = x.astype("float64")
    chosen = draw.random(x.shape) < 0.4
    if x.size:
        place = draw.integers(x.size)
        chosen.reshape(-1)[place] = True
    count = int(chosen.sum())
    sprinkled[chosen] = draw.choice(values, count)
    return sprinkled


def _equal_rows(x: Array, draw: Draw) -> Array:
    if not x.ndim:
        return x
    first_row = x[:1]
    return np.broadcast_to(first_row, x.shape)


def _equal_columns(x: Array, draw: Draw) -> Array:
    if not x.ndim:
        return x
    first_column = x[..., :1]
    return np.broadcast_to(first_column, x.shape)


def _sorted(x: Array, draw: Draw) -> Array:
    return np.sort(x, axis=None)


def _reversed(x: Array, draw: Draw) -> Array:
    return np.sort(x, axis=None)[::-1]


def _large_integers(example: Example, draw: Draw) -> tuple:
    """Integers beyond what a float32 can hold, and in 64 bits beyond what an int32 can."""
    factors = {4: 2**24, 8: 2**34}

    def enlarged(x: Array) -> Array:
        size = x.dtype.itemsize
        if not _is_integer(x) or size not in factors:
            return x
        return x * factors[size] + 1

    return map_arrays(enlarged, example.inputs)


def _is_integer(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind in "iu"


def _scaled(factor: float) -> Regime:
    return Regime(f"scaled by {factor:g}", _values(lambda x, draw: x * factor))


def _shifted(offset: float) -> Regime:
    return Regime(f"shifted by {offset:g}", _values(lambda x, draw: x + offset))


def _tied(x: Array, draw: Draw) -> Array:
    return np.rint(x)


def _with_zeros(x: Array, draw: Draw) -> Array:
    return _sprinkled(x, draw, ROUND)


def _with_denormals(x: Array, draw: Draw) -> Array:
    return _sprinkled(x, draw, (1e-40, -1e-40))


VALUES = (
    *map(_scaled, (0.001, 16.0, 100.0, 1000.0)),
    *map(_shifted, (1000.0, -1000.0)),
    Regime("tied", _values(_tied)),
    Regime("equal rows", _values(_equal_rows), derived=False),
    Regime("equal columns", _values(_equal_columns), derived=False),
    Regime("sorted", _values(_sorted)),
    Regime("sorted backwards", _values(_reversed)),
    Regime("zeros", _values(_with_zeros)),
    Regime("denormals", _values(_with_denormals), derived=False, flushed=True),
    Regime("infinity", _one_of(np.inf), derived=False),
    Regime("minus infinity", _one_of(-np.inf), derived=False),
    Regime("a row of minus infinity", _rows_of_minus_infinity, derived=False),
    Regime("NaN", _one_of(np.nan), derived=False),
)
FINITE = VALUES[:-4]  # kernels of frameworks differ in how far a NaN spreads


# -- shapes


def _shapes(example: Example) -> Iterator[Regime]:
    first, last = _ends(example)
    yield _sized("odd sizes", _odd)
    yield _sized("square", _each_size(lambda n: SQUARE))
    yield _sized("larger", _larger(example, LARGER))
    yield _sized("one row", _with_size(first, 1))
    yield _sized("one column", _with_size(last, 1))
    yield _sized("one element", lambda shape: (1,) * len(shape))
    yield _sized("no rows", _with_size(first, 0))
    yield _sized("no columns", _with_size(last, 0))


def _ranks(example: Example) -> Iterator[Regime]:
    rank = max(map(len, _array_shapes(example)))

    def with_axes(*sizes: int) -> Regime:
        def reshape(shape: Shape) -> Shape:
            if len(shape) < rank:
                return shape
            return (*sizes, *shape)

        new_rank = rank + len(sizes)
        return _sized(f"rank {new_rank}", reshape)

    if rank == 2:
        yield _sized(SCALARS, lambda shape: ())
        yield _sized("rank 1", lambda shape: shape[-1:])
    yield with_axes(2)
    yield with_axes(2, 3)


def _sized(name: str, reshape: Reshape) -> Regime:
    """Values with the same distribution, in arrays of other shapes."""

    def inputs(example: Example, draw: Draw) -> tuple:
        def resampled(x: Array) -> Array:
            return _resampled(x, reshape(x.shape), draw)

        return map_arrays(resampled, example.inputs)

    return Regime(name, inputs)


def _each_size(change: Callable[[int], int]) -> Reshape:
    """Every size changed, except for 0 and 1."""

    def reshape(shape: Shape) -> Shape:
        sizes = []
        for n in shape:
            if n > 1:
                n = change(n)
            sizes.append(n)
        return tuple(sizes)

    return reshape


_odd = _each_size(lambda n: 2 * n + 1)


def _with_size(old: int, new: int) -> Reshape:
    """Every axis of the old size gets the new one: axes of one size are taken for the same, in all inputs."""

    def reshape(shape: Shape) -> Shape:
        sizes = list(shape)
        for axis, size in enumerate(shape):
            if size == old:
                sizes[axis] = new
        return tuple(sizes)

    return reshape


def _larger(example: Example, elements: int) -> Reshape:
    """Every size but 1 multiplied by the same number, plus one, so that it is no multiple of a vector's length."""
    shapes = _array_shapes(example)
    # each may be an axis of the result
    distinct_sizes = {*chain.from_iterable(shapes)}
    factors = []
    for sizes in [distinct_sizes, *shapes]:
        long_axes = [n for n in sizes if n > 1]
        if long_axes:
            growth = elements / np.prod(long_axes)
            exponent = 1 / len(long_axes)
            factors.append(growth**exponent)
    factor = max(2, int(min(factors)))
    return _each_size(lambda n: n * factor + 1)


def _array_shapes(example: Example) -> list[Shape]:
    return [x.shape for x in example.inputs if isinstance(x, np.ndarray)]


def _ends(example: Example) -> tuple[int, int]:
    """The sizes of the first and the last axis of the first input that has axes."""
    shape = next(shape for shape in _array_shapes(example) if shape)
    return shape[0], shape[-1]


def _resampled(x: Array, shape: Shape, draw: Draw) -> Array:
    """An array of this shape: floats are quantiles of those in x, other values are drawn from x."""
    if x.shape == shape:
        return x
    if not x.size:
        return np.zeros(shape, x.dtype)
    if not is_float(x):
        return draw.choice(x.reshape(-1), shape)
    n = int(np.prod(shape))
    middles = draw.permutation(n) + 0.5
    ranks = middles / max(n, 1)
    # np.quantile would need seconds for so many ranks
    in_order = np.sort(x.astype("float64"), axis=None)
    places = ranks * (x.size - 1)
    quantiles = np.interp(places, np.arange(x.size), in_order)
    return quantiles.astype(x.dtype).reshape(shape)
