"""Whether a codec is what it declares: unbiased, a contraction, of bounded variance, linear."""

from collections.abc import Iterator

import ml_dtypes
import numpy as np

from ...contracts.codec import Codec, Gather, Key
from ..checking.report import Check
from .aggregation import Group
from .coding import Case
from .statistics import directions, half_widths

SIZE = 1000
DRAWS = 200
CONFIRMING = 1600  # draws for what looked wrong
RANDOM_REGIMES = ("normal", "heavy-tailed", "sparse", "constant")
SMALL_GATHER = 64  # bytes that a linear codec may gather: a scale
ROUNDING = 8  # units in the last place


def check_declaration(codec: Codec, dtype: str, seed: int) -> Iterator[Check]:
    for regime in RANDOM_REGIMES:
        case = Case(codec, regime, SIZE, dtype, seed)
        yield from _unbiased(case)
        yield from _bounded(case, "contraction", codec.contraction)
        yield from _bounded(case, "variance", codec.variance)
        yield from _linear(case)


def _draws(case: Case, count: int, first: int = 0) -> np.ndarray:
    """The errors of so many encodings of one input under different keys, in float64."""
    x = case.x
    errors = np.empty((count, x.size))
    for number in range(count):
        key = Key(case.seed, first + number, tensor="drawn")
        errors[number] = case.decoded(x, key).astype(np.float64) - x
    return errors


def _unbiased(case: Case) -> Iterator[Check]:
    name = "unbiased"
    if not case.codec.unbiased:
        yield case.check(name, None, text="is declared biased")
        return
    for count, first in ((DRAWS, 0), (CONFIRMING, DRAWS)):
        verdict = _bias(case, _draws(case, count, first))
        if verdict.ok:
            break
    yield verdict


def _bias(case: Case, errors: np.ndarray) -> Check:
    """The mean error along every direction, against the interval of its mean."""
    x = case.x.astype(np.float64)
    rows = directions(x, case.seed)
    along = errors @ rows.T
    tests = len(rows) * len(RANDOM_REGIMES) * 2
    lengths = np.abs(rows) @ np.abs(x)
    rounding = ROUNDING * np.finfo(case.dtype).eps * lengths
    allowed = half_widths(along, tests) + _coarseness(errors, rows) + rounding
    means = np.abs(along.mean(axis=0))
    worst = int(np.argmax(means / np.maximum(allowed, 1e-300)))
    ok = bool((means <= allowed).all())
    text = f"{len(errors)} draws, {len(rows)} directions"
    fault = f"the mean of {text} differs from what was encoded"
    value, bound = float(means[worst]), float(allowed[worst])
    return case.check("unbiased", ok, value, bound, text, fault)


def _coarseness(errors: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """What the steps of the random numbers (2**-16) may add: so much of the largest error of each element."""
    return 2.0**-16 * (np.abs(rows) @ np.abs(errors).max(axis=0))


def _bounded(case: Case, name: str, declared: float | None) -> Iterator[Check]:
    """The mean of ||x - decoded||² / ||x||² over the keys, against what is declared."""
    if declared is None:
        yield case.check(name, None, text="is not declared")
        return
    x = case.x.astype(np.float64)
    square = float(x @ x)
    bound = declared
    if name == "contraction":
        bound = 1 - declared
    for count, first in ((DRAWS, 0), (CONFIRMING, DRAWS)):
        errors = _draws(case, count, first)
        ratios = np.einsum("ij,ij->i", errors, errors)[:, None] / max(square, 1e-300)
        mean = float(ratios.mean())
        width = float(half_widths(ratios, 2 * len(RANDOM_REGIMES) * 2)[0])
        rounding = ROUNDING * float(np.finfo(case.dtype).eps)
        ok = mean - width <= bound * (1 + 1e-6) + rounding
        if ok:
            break
    text = f"{count} draws, ± {width:.2g}"
    fault = f"loses {mean:.3g} of the square, and {bound:.3g} is declared; {text}"
    yield case.check(name, ok, mean, bound, text, fault)


def _linear(case: Case) -> Iterator[Check]:
    if not case.codec.linear:
        yield case.check("linear", None, text="is declared as not linear")
        return
    if type(case.codec).compress is Codec.compress:
        yield _sums_only(case)
        return
    x, y = case.x, case.x[::-1].copy()
    codec, key = case.codec, case.key
    form = codec.compress(x, key) + codec.compress(y, key)
    added = codec.expand(form, x.size, x.dtype, key).astype(np.float64)
    apart = case.decoded(x).astype(np.float64) + case.decoded(y)
    scale = float(np.abs(apart).max(initial=0)) or 1.0
    error = float(np.abs(added - apart).max()) / scale
    bound = ROUNDING * float(ml_dtypes.finfo(form.dtype).eps)
    fault = "the sum of two forms is not the form of the sum"
    yield case.check("linear", error <= bound, error, bound, fault=fault)


def _sums_only(case: Case) -> Check:
    """A linear codec with rounds of its own must not gather what grows with the buffer."""
    group = Group(case.codec, case.size, case.dtype, 2)
    group.aggregate([case.x, case.x], 0)
    gathered = [r.payload.size for r in group.requests if isinstance(r, Gather)]
    most = max(gathered, default=0)
    fault = f"gathers payloads of {most} bytes"
    return case.check("linear", most <= SMALL_GATHER, most, SMALL_GATHER, fault=fault)
