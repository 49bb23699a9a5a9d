"""Harder inputs made from those of an example: scaled, shifted, tied, sorted, special, of other shapes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .bounds import depth
from .examples import XP, Example, generator
from .formats import FORMATS, is_float, wide
from .subjects import is_compiled, is_ours

LARGER = 12_000  # elements of the largest input
SHARED = 100_000  # elements where threads share the work
COMPILED = 2_000_000  # the same for C++, whose races need more time to show
ROUND = (0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, -1.5)
SCALARS = "rank 0"  # NumPy's functions make arrays of one of them, or not
LARGE = ("scaled by", "shifted by")
SQUARE = 5
PLACES = 4  # elements that show whether an operator works element by element

Change = Callable[[np.ndarray, np.random.Generator], np.ndarray]
Sizes = Callable[[tuple[int, ...]], tuple[int, ...]]


@dataclass(frozen=True)
class Regime:
    """A way to make other inputs. `derived` says whether gradients are looked at too."""

    name: str
    inputs: Callable[[Example, np.random.Generator], tuple]
    derived: bool = True
    flushed: bool = (
        False  # whether a result for zeros in place of denormals is right as well
    )


def regimes(example: Example, free_rank: bool) -> Iterator[Regime]:
    """What there is to try; `free_rank` says whether the operator was given no shapes to keep to."""
    ours = is_ours(example.operator)
    if example.floats:
        yield from VALUES if not ours or is_elementwise(example) else FINITE
    elif any(_is_integer(x) for x in example.inputs):
        yield Regime("large integers", _large_integers, derived=False)
    if (
        example.regular and not ours
    ):  # the cases of built-in operators have shapes of their own
        yield from _shapes(example)
        if free_rank:
            yield from _ranks(example)


def in_regime(example: Example, regime: Regime) -> Example | str:
    """The example with such inputs, or why there is none."""
    draw = generator(example.name, regime.name, example.seed)
    with np.errstate(all="ignore"):
        inputs = regime.inputs(example, draw)
    if not example.domain.holds(inputs):
        return f"outside of its domain {example.domain}"
    made = replace(example, inputs=inputs, regime=regime.name)
    made = replace(
        made, slack=made.largest
    )  # terms as large may cancel, as in x (1 + erf x)
    if regime in VALUES:
        made = replace(made, operations=depth(example))
    try:
        made.operator.infer(*made.tensors)
        _ = made.outputs
    except Exception as error:  # whatever a formula or a reference says
        return f"not taken: {next(iter(str(error).strip().splitlines()), type(error).__name__)}"
    return made


def shared_work(example: Example) -> Example | None:
    """The example so large that threads share its work; None where it has no larger inputs."""
    if not example.regular or not example.floats:
        return None
    elements = COMPILED if is_compiled(example.operator) else SHARED
    found = in_regime(example, _sized("large", _larger(example, elements)))
    return found if isinstance(found, Example) else None


def in_named_regime(example: Example, name: str) -> Example | None:
    """The example in the regime of this name; None where there is none."""
    for regime in regimes(example, free_rank=False):
        if regime.name == name:
            found = in_regime(example, regime)
            return found if isinstance(found, Example) else None
    return None


def odd_shaped(example: Example) -> Example | None:
    """The example in another shape; None where there is none."""
    found = in_regime(example, _sized("odd sizes", _odd)) if example.regular else ""
    return found if isinstance(found, Example) else None


def forgiven(example: Example, got: list[np.ndarray]) -> list[np.ndarray]:
    """The results, with the truth in place of what is as good.

    A NaN may spread, and an infinite sum may become a NaN, except element by element. For large finite inputs a slow,
    simple reference may overflow where a better operator does not.
    """
    if example.regime.startswith(LARGE):
        return without_overflow(example, got, example.outputs)
    floats = [example.inputs[i].astype("float64") for i in example.floats]
    if any(np.isnan(x).any() for x in floats):
        return [_replaced(y, want, _spread) for y, want in _pairs(example, got)]
    if any(np.isinf(x).any() for x in floats) and not is_elementwise(example):
        return [_replaced(y, want, _both_infinite) for y, want in _pairs(example, got)]
    return got


def without_overflow(
    example: Example, got: Sequence[Any], right: Sequence[Any]
) -> list[Any]:
    """The same for what the dtype cannot hold: infinite or no number is as good as any other answer."""
    largest = FORMATS[example.dtype].largest

    def as_good(y: np.ndarray, want: np.ndarray) -> np.ndarray:
        overflows = ~np.isfinite(y) & ~(np.abs(want) <= largest)
        return overflows | (np.isfinite(y) & ~np.isfinite(want))

    pairs = zip(got, [*right, *[None] * len(got)], strict=False)
    return [y if y is None else _replaced(y, want, as_good) for y, want in pairs]


def _pairs(example: Example, got: list[np.ndarray]) -> Iterator[tuple[np.ndarray, Any]]:
    for i, y in enumerate(got):
        yield y, example.outputs[i] if i < len(example.outputs) else None


def _replaced(y: np.ndarray, want: Any, as_good: Callable) -> np.ndarray:
    if want is None or not is_float(y) or y.shape != want.shape:
        return y
    with np.errstate(all="ignore"):
        return np.where(as_good(y.astype("float64"), want), want.astype(y.dtype), y)


def _spread(y: np.ndarray, want: np.ndarray) -> np.ndarray:
    return np.isnan(y)


def _both_infinite(y: np.ndarray, want: np.ndarray) -> np.ndarray:
    return ~np.isfinite(y) & ~np.isfinite(want)


def is_elementwise(example: Example) -> bool:
    """Whether every element of the only output follows from one element of every input."""
    first, *others = example.outputs
    arrays = [x for x in example.inputs if isinstance(x, np.ndarray)]
    if others or not first.size or any(x.shape != first.shape for x in arrays):
        return False
    places = [int(at) for at in example.draw("places").integers(0, first.size, PLACES)]
    calls = [(_spiked(example, i, at), XP) for i in example.floats for at in places]
    made = example.truths(calls)
    moved = [outputs[0] != first for outputs in made]
    return all(
        not np.any(np.delete(changed.reshape(-1), at))
        for changed, at in zip(moved, places * len(example.floats), strict=True)
    )


def _spiked(example: Example, i: int, place: int) -> tuple:
    changed = list(wide(example.inputs))
    changed[i].reshape(-1)[place] *= 1.5
    return tuple(changed)


# -- values


def _values(change: Change) -> Callable[[Example, np.random.Generator], tuple]:
    def changed(example: Example, draw: np.random.Generator) -> tuple:
        return tuple(
            _as(x, change(x, draw)) if is_float(x) else x for x in example.inputs
        )

    return changed


def _one_of(value: float) -> Callable[[Example, np.random.Generator], tuple]:
    """One element of one input replaced."""

    def changed(example: Example, draw: np.random.Generator) -> tuple:
        inputs = [x.copy() if isinstance(x, np.ndarray) else x for x in example.inputs]
        filled = [i for i in example.floats if inputs[i].size]
        if filled:
            chosen = inputs[int(draw.choice(filled))]
            chosen.reshape(-1)[draw.integers(chosen.size)] = value
        return tuple(inputs)

    return changed


def _rows_of_minus_infinity(example: Example, draw: np.random.Generator) -> tuple:
    """The first row of every input, as a mask leaves it."""
    inputs = [x.copy() if isinstance(x, np.ndarray) else x for x in example.inputs]
    for i in example.floats:
        if inputs[i].size:
            inputs[i].reshape(-1, *inputs[i].shape[-1:])[0] = -np.inf
    return tuple(inputs)


def _as(x: np.ndarray, values: np.ndarray) -> np.ndarray:
    return np.asarray(values, x.dtype).reshape(x.shape)


def _sprinkled(
    x: np.ndarray, draw: np.random.Generator, values: Sequence[float]
) -> np.ndarray:
    """Some elements, at least one, replaced by these."""
    made = x.astype("float64")
    chosen = draw.random(x.shape) < 0.4
    if x.size:
        chosen.reshape(-1)[draw.integers(x.size)] = True
    made[chosen] = draw.choice(values, int(chosen.sum()))
    return made


def _equal_rows(x: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    return np.broadcast_to(x[:1], x.shape) if x.ndim else x


def _equal_columns(x: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    return np.broadcast_to(x[..., :1], x.shape) if x.ndim else x


def _sorted(x: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    return np.sort(x, axis=None)


def _reversed(x: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    return np.sort(x, axis=None)[::-1]


def _large_integers(example: Example, draw: np.random.Generator) -> tuple:
    """Beyond what a float32 can hold, and where there is room what an int32 can."""
    beyond = {4: 2**24, 8: 2**34}
    return tuple(
        x * beyond[x.dtype.itemsize] + 1
        if _is_integer(x) and x.dtype.itemsize in beyond
        else x
        for x in example.inputs
    )


def _is_integer(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind in "iu"


def _scaled(factor: float) -> Regime:
    return Regime(f"scaled by {factor:g}", _values(lambda x, draw: x * factor))


def _shifted(offset: float) -> Regime:
    return Regime(f"shifted by {offset:g}", _values(lambda x, draw: x + offset))


def _tied(x: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    return np.rint(x)


def _with_zeros(x: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    return _sprinkled(x, draw, ROUND)


def _with_denormals(x: np.ndarray, draw: np.random.Generator) -> np.ndarray:
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
    yield _sized("square", lambda shape: tuple(n if n < 2 else SQUARE for n in shape))
    yield _sized("larger", _larger(example, LARGER))
    yield _sized("one row", lambda shape: _with(shape, first, 1))
    yield _sized("one column", lambda shape: _with(shape, last, 1))
    yield _sized("one element", lambda shape: tuple(1 for _ in shape))
    yield _sized("no rows", lambda shape: _with(shape, first, 0))
    yield _sized("no columns", lambda shape: _with(shape, last, 0))


def _ranks(example: Example) -> Iterator[Regime]:
    rank = max(x.ndim for x in example.inputs if isinstance(x, np.ndarray))

    def with_axes(*sizes: int) -> Sizes:
        return lambda shape: (*sizes, *shape) if len(shape) == rank else shape

    if rank == 2:
        yield _sized(SCALARS, lambda shape: ())
        yield _sized("rank 1", lambda shape: shape[-1:])
    yield _sized(f"rank {rank + 1}", with_axes(2))
    yield _sized(f"rank {rank + 2}", with_axes(2, 3))


def _sized(name: str, sizes: Sizes) -> Regime:
    """Values with the same distribution, in arrays of other shapes."""

    def inputs(example: Example, draw: np.random.Generator) -> tuple:
        return tuple(
            _resampled(x, sizes(x.shape), draw) if isinstance(x, np.ndarray) else x
            for x in example.inputs
        )

    return Regime(name, inputs)


def _odd(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n if n < 2 else 2 * n + 1 for n in shape)


def _larger(example: Example, elements: int) -> Sizes:
    """Every size but 1 multiplied by the same number, and one more: a multiple of nothing."""
    shapes = [x.shape for x in example.inputs if isinstance(x, np.ndarray)]
    sizes = {
        n for shape in shapes for n in shape if n > 1
    }  # each may be an axis of the result
    factors = []
    for shape in [tuple(sizes), *shapes]:
        wide = [n for n in shape if n > 1]
        if wide:
            factors.append((elements / np.prod(wide)) ** (1 / len(wide)))
    factor = max(2, int(min(factors)))
    return lambda shape: tuple(n if n < 2 else n * factor + 1 for n in shape)


def _ends(example: Example) -> tuple[int, int]:
    """The sizes of the first and the last axis of the first input that has axes."""
    shape = next(
        x.shape for x in example.inputs if isinstance(x, np.ndarray) and x.ndim
    )
    return shape[0], shape[-1]


def _with(shape: tuple[int, ...], old: int, new: int) -> tuple[int, ...]:
    """An axis of the same size is taken for the same axis, in all inputs."""
    return tuple(new if n == old else n for n in shape)


def _resampled(
    x: np.ndarray, shape: tuple[int, ...], draw: np.random.Generator
) -> np.ndarray:
    """Floats between those that there are, distinct where they were; of anything else those that there are."""
    n = int(np.prod(shape))
    if not x.size or x.shape == shape:
        return x if x.shape == shape else np.zeros(shape, x.dtype)
    if not is_float(x):
        return draw.choice(x.reshape(-1), shape)
    ranks = (draw.permutation(n) + 0.5) / max(n, 1)
    return _resized(np.quantile(x.astype("float64"), ranks), shape, x.dtype)


def _resized(values: np.ndarray, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    return np.asarray(values).astype(dtype).reshape(shape)
