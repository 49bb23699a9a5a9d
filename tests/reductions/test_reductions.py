"""One hash for every order, split and number of parts, in C++ and in NumPy, and an error within the stated bound."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deep500 import registry
from deep500.contracts.reduction import (
    ReproducibleReduction,
    merged_frames,
    sum_over_ranks,
)
from deep500.contracts.transport import Program
from deep500.definition_text import definition_of
from deep500.errors import Deep500Error
from deep500.reductions._native import library, only_numpy
from deep500.reductions.fixed_point import FixedPoint
from deep500.reductions.fixed_tree import FixedTree
from deep500.reductions.pre_rounded import PreRounded
from deep500.transports.virtual import Virtual

REDUCTIONS = [
    FixedPoint(),
    FixedPoint(None),
    FixedTree(),
    *(PreRounded(levels, sweeps) for sweeps in (1, 2) for levels in (1, 2, 3)),
]
DTYPES = ["float32", "float64"]


class PlainSum(ReproducibleReduction):
    """The planted error: the parts of a sum are added as floats."""

    def partial(self, values, first=0, frame=None):
        return np.array([values.sum(dtype=np.float64)])

    def merge(self, partials):
        return np.array([sum(partial[0] for partial in partials)])

    def finish(self, partial):
        return float(partial[0])

    def bound(self, values):
        return math.inf


def numbers(dtype: str, count: int = 3000, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    spread = 10.0 ** random.uniform(-9, 2, count)
    return (random.standard_normal(count) * spread).astype(dtype)


def divided(
    reduction: ReproducibleReduction, values: np.ndarray, random: np.random.Generator
) -> str:
    """The sum in parts that are merged in any order, some of them added by NumPy; with its bits."""
    count = int(random.integers(0, 9))
    cuts = np.sort(random.integers(0, values.size + 1, count))
    parts = np.split(values, cuts)
    frame = None
    if reduction.needs_frame:
        frame = merged_frames([reduction.frame(part) for part in parts])
    partials = []
    for first, part in zip([0, *cuts.tolist()], parts, strict=True):
        with only_numpy(bool(random.random() < 0.3)):
            partials.append(reduction.partial(part, first, frame))
    order = random.permutation(len(partials))
    joined = [partials[place] for place in order]
    while len(joined) > 1:
        place = int(random.integers(1, len(joined)))
        joined[place - 1 : place + 1] = [reduction.merge(joined[place - 1 : place + 1])]
    return reduction.finish(reduction.merge(joined)).hex()


def hashes(
    reduction: ReproducibleReduction, values: np.ndarray, trials: int
) -> set[str]:
    random = np.random.default_rng(1)
    seen = {reduction.sum(values).hex()}
    for _ in range(trials):
        # a tree is fixed by the places of the numbers
        is_tree = isinstance(reduction, FixedTree)
        order = values if is_tree else random.permutation(values)
        seen.add(divided(reduction, order, random))
    return seen


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("reduction", REDUCTIONS, ids=str)
def test_one_hash(reduction: ReproducibleReduction, dtype: str) -> None:
    assert len(hashes(reduction, numbers(dtype), 40)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("reduction", REDUCTIONS, ids=str)
def test_one_hash_of_ten_thousand(reduction: ReproducibleReduction, dtype: str) -> None:
    assert len(hashes(reduction, numbers(dtype), 10_000)) == 1


def test_a_plain_sum_is_found() -> None:
    assert len(hashes(PlainSum(), numbers("float32"), 100)) > 1


FLOATS = st.floats(allow_nan=False, allow_infinity=False, width=64)


@pytest.mark.parametrize("reduction", REDUCTIONS, ids=str)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_numbers(reduction: ReproducibleReduction, data: st.DataObject) -> None:
    """One hash, by C++ and NumPy, and the bound; also for denormals and the largest numbers."""
    values = np.array(data.draw(st.lists(FLOATS, max_size=200)), np.float64)
    seed = data.draw(st.integers(0, 2**32))
    try:
        total = reduction.sum(values)
    except Deep500Error:
        assert isinstance(reduction, FixedPoint)
        with only_numpy(), pytest.raises(Deep500Error):
            reduction.sum(values)
        return
    with only_numpy():
        assert reduction.sum(values).hex() == total.hex()
    random = np.random.default_rng(seed)
    if not isinstance(reduction, FixedTree):
        values = random.permutation(values)
    assert divided(reduction, values, random) == total.hex()
    if math.isfinite(total):
        exact = sum(map(Fraction, values.tolist()), Fraction())
        bound = reduction.bound(values)
        assert math.isinf(bound) or abs(Fraction(total) - exact) <= Fraction(bound)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("reduction", REDUCTIONS, ids=str)
def test_error_is_within_the_bound(
    reduction: ReproducibleReduction, dtype: str
) -> None:
    for seed in range(20):
        values = numbers(dtype, 2000, seed)
        exact = math.fsum(values.tolist())
        assert abs(reduction.sum(values) - exact) <= reduction.bound(values)


def test_more_levels_are_closer() -> None:
    values = numbers("float64", 4000)
    bounds = [PreRounded(levels).bound(values) for levels in (1, 2, 3)]
    assert bounds[0] > 1e6 * bounds[1] >= 1e6 * bounds[2] / 4
    exact = math.fsum(values.tolist())
    assert abs(PreRounded(3).sum(values) - exact) <= 4 * np.spacing(abs(exact))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("reduction", REDUCTIONS, ids=str)
def test_special_numbers(reduction: ReproducibleReduction, dtype: str) -> None:
    """NaN and infinities as IEEE adds them, wherever they are; fixed point refuses them in one line."""
    cases = {
        (np.nan,): np.nan,
        (np.inf,): np.inf,
        (-np.inf,): -np.inf,
        (np.inf, -np.inf): np.nan,
        (np.nan, np.inf): np.nan,
    }
    for special, wanted in cases.items():
        values = numbers(dtype, 500)
        values[[100, 400][: len(special)]] = special
        if isinstance(reduction, FixedPoint):
            with pytest.raises(Deep500Error, match="adds finite numbers"):
                reduction.sum(values)
            continue
        bits = {total for total in hashes(reduction, values, 20)}
        assert bits == {float(wanted).hex()}


@pytest.mark.parametrize("reduction", REDUCTIONS, ids=str)
def test_nothing_and_zeros(reduction: ReproducibleReduction) -> None:
    assert reduction.sum(np.zeros(0)) == 0
    assert reduction.sum(np.zeros(100, np.float32)) == 0


def test_denormals_count() -> None:
    values = np.full(1000, 5e-324)
    for reduction in REDUCTIONS:
        if not isinstance(reduction, FixedPoint):
            assert reduction.sum(values) == 1000 * 5e-324
    assert FixedPoint().sum(values) == 0
    assert FixedPoint(None).sum(np.full(4, 2.0**-800)) == 2.0**-798


@pytest.mark.parametrize("reduction", REDUCTIONS, ids=str)
def test_beyond_the_largest_number(reduction: ReproducibleReduction) -> None:
    values = np.full(4, np.finfo(np.float64).max)
    if isinstance(reduction, FixedPoint) and reduction.fraction is not None:
        with pytest.raises(Deep500Error, match=r"give FixedPoint\(-973\) or less"):
            reduction.sum(values)
        return
    if reduction == FixedPoint(None):
        with pytest.raises(Deep500Error, match="give"):
            reduction.sum(values)
        return
    assert reduction.sum(values) == np.inf
    assert reduction.sum(np.array([1e308, -1e308, 1.0])) in (0.0, 1.0)


def test_a_number_beyond_the_range_is_refused_with_the_scale_to_choose() -> None:
    values = np.array([1.0, 2.0**11], np.float32)
    with pytest.raises(
        Deep500Error, match=r"2048 is among them: give FixedPoint\(39\)"
    ):
        FixedPoint(40).sum(values)
    assert FixedPoint(39).sum(values) == 2049
    rows = [np.full(3, 1000.0, np.float32)] * 5000
    with pytest.raises(Deep500Error, match=r"give FixedPoint\(39\) or less"):
        FixedPoint(40).sum_rows(rows, np.empty(3, np.float32))
    out = np.empty(3, np.float32)
    FixedPoint(38).sum_rows(rows, out)
    assert (out == 5e6).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("reduction", REDUCTIONS, ids=str)
def test_rows(reduction: ReproducibleReduction, dtype: str) -> None:
    """Rows are added as single sums are; with the same bits in NumPy, and in any order (not for the tree)."""
    if reduction == FixedPoint(None):
        with pytest.raises(Deep500Error, match="give a fraction"):
            reduction.sum_rows([np.zeros(3)], np.zeros(3))
        return
    random = np.random.default_rng(0)
    rows = [*random.standard_normal((7, 5000)).astype(dtype)]
    out = np.empty(5000, dtype)
    reduction.sum_rows(rows, out)
    exact = np.array([math.fsum(column) for column in np.array(rows, float).T])
    assert np.abs(out - exact).max() < (1e-6 if dtype == "float32" else 1e-10)
    again = np.empty(5000, dtype)
    if not isinstance(reduction, FixedTree):
        rows = [rows[place] for place in random.permutation(7)]
    with only_numpy():
        reduction.sum_rows(rows, again)
    assert again.tobytes() == out.tobytes()


@pytest.mark.parametrize("reduction", REDUCTIONS, ids=str)
def test_virtual_ranks(reduction: ReproducibleReduction) -> None:
    values = numbers("float64", 1000)
    wanted = reduction.sum(values)
    for size in (1, 2, 3, 5, 8):
        parts = np.array_split(values, size)
        firsts = np.cumsum([0, *map(len, parts)])
        totals = _totals(reduction, parts, firsts.tolist())
        assert {*totals.values()} == {wanted}


def _totals(
    reduction: ReproducibleReduction, parts: list[np.ndarray], firsts: list[int]
) -> dict[int, float]:
    def program(rank: int) -> Program:
        return sum_over_ranks(reduction, parts[rank], firsts[rank])

    return Virtual(len(parts)).run(program)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PreRounded(4)", "levels of PreRounded is 4: give 1, 2 or 3"),
        ("PreRounded(2, 3)", "sweeps of PreRounded is 3: give 1 or 2"),
        ("FixedPoint(2000)", "fraction of FixedPoint is 2000"),
        ("FixdPoint()", "Did you mean"),
    ],
)
def test_bad_settings(text: str, message: str) -> None:
    with pytest.raises(Deep500Error, match=message):
        definition_of(text, "reductions")


def test_other_dtypes_are_refused() -> None:
    with pytest.raises(Deep500Error, match="int64 was given: convert it"):
        FixedPoint().sum(np.arange(3))


def test_loops_compile() -> None:
    """Or else the tests above compare NumPy with NumPy."""
    assert library() is not None


def test_all_are_tested() -> None:
    names = {type(reduction).__name__ for reduction in REDUCTIONS}
    assert names == {*registry.known("reductions")}
