"""Checks the declared properties of a codec: unbiased, a contraction, of bounded variance, linear."""

from collections.abc import Iterator

import ml_dtypes
import numpy as np

from ...contracts.codec import Codec, GatherRequest, Key
from ..report import CheckResult
from .aggregation import RankGroup
from .coding import CodecCase
from .statistics import directions, half_widths

SIZE = 1000
DRAWS = 200
CONFIRMING = 1600  # draws for a second test of what failed the first
# draws of each test, and the first of them
SAMPLES = (DRAWS, 0), (CONFIRMING, DRAWS)
RANDOM_REGIMES = ("normal", "heavy-tailed", "sparse", "constant")
SMALL_GATHER = 64  # bytes that a linear codec may gather, such as a scale
ROUNDING = 8  # units in the last place
WITHOUT_FEEDBACK = (
    ", without error feedback: unless it loses next to nothing, training may not converge with it (declare "
    "`error_feedback = True`, and what it leaves out is sent later)"
)


def check_declaration(codec: Codec, dtype: str, seed: int) -> Iterator[CheckResult]:
    for regime in RANDOM_REGIMES:
        case = CodecCase(codec, regime, SIZE, dtype, seed)
        yield from _unbiased(case)
        yield from _bounded(case, "contraction", codec.contraction)
        yield from _bounded(case, "variance", codec.variance)
        yield from _linear(case)


def _draws(case: CodecCase, count: int, first: int = 0) -> np.ndarray:
    """The errors of `count` encodings of one input under different keys, in float64."""
    x = case.x
    errors = np.empty((count, x.size))
    for number in range(count):
        key = Key(case.seed, first + number, tensor="drawn")
        decoded = case.decoded(x, key)
        errors[number] = decoded.astype(np.float64) - x
    return errors


def _unbiased(case: CodecCase) -> Iterator[CheckResult]:
    name = "unbiased"
    if not case.codec.unbiased:
        text = "is declared biased"
        if not case.codec.error_feedback:
            text += WITHOUT_FEEDBACK
        yield case.check(name, None, text=text)
        return
    for count, first in SAMPLES:
        errors = _draws(case, count, first)
        verdict = _bias(case, errors)
        if verdict.ok:
            break
    yield verdict


def _bias(case: CodecCase, errors: np.ndarray) -> CheckResult:
    """Compares the mean error along every direction with its confidence interval."""
    x = case.x.astype(np.float64)
    rows = directions(x, case.seed)
    along = errors @ rows.T
    tests = len(rows) * len(RANDOM_REGIMES) * 2
    lengths = np.abs(rows) @ np.abs(x)
    rounding = ROUNDING * case.epsilon * lengths
    allowed = half_widths(along, tests) + _coarseness(errors, rows) + rounding
    means = np.abs(along.mean(axis=0))
    used = means / np.maximum(allowed, 1e-300)
    worst = int(np.argmax(used))
    ok = bool((means <= allowed).all())
    text = f"{len(errors)} draws, {len(rows)} directions"
    fault = f"the mean of {text} differs from what was encoded"
    value = float(means[worst])
    bound = float(allowed[worst])
    return case.check("unbiased", ok, value, bound, text, fault)


def _coarseness(errors: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """What the resolution of the random numbers (2**-16) may add, from the largest error of each element."""
    largest = np.abs(errors).max(axis=0)
    return 2.0**-16 * (np.abs(rows) @ largest)


def _bounded(
    case: CodecCase, name: str, declared: float | None
) -> Iterator[CheckResult]:
    """Compares the mean of ||x - decoded||² / ||x||² over the keys with the declared bound."""
    if declared is None:
        yield case.check(name, None, text="is not declared")
        return
    x = case.x.astype(np.float64)
    square = float(x @ x)
    bound = declared
    if name == "contraction":
        bound = 1 - declared
    tests = 2 * len(RANDOM_REGIMES) * 2
    rounding = ROUNDING * case.epsilon
    for count, first in SAMPLES:
        errors = _draws(case, count, first)
        error_squares = np.einsum("ij,ij->i", errors, errors)
        ratios = error_squares[:, None] / max(square, 1e-300)
        mean = float(ratios.mean())
        width = float(half_widths(ratios, tests)[0])
        ok = mean - width <= bound * (1 + 1e-6) + rounding
        if ok:
            break
    text = f"{count} draws, ± {width:.2g}"
    loss = f"loses {mean:.3g} of the square"
    fault = f"{loss}, and {bound:.3g} is declared; {text}"
    yield case.check(name, ok, mean, bound, text, fault)


def _linear(case: CodecCase) -> Iterator[CheckResult]:
    if not case.codec.linear:
        yield case.check("linear", None, text="is declared as not linear")
        return
    if type(case.codec).compress is Codec.compress:
        yield _sums_only(case)
        return
    x = case.x
    y = x[::-1].copy()
    codec, key = case.codec, case.key
    form = codec.compress(x, key) + codec.compress(y, key)
    expanded = codec.expand(form, x.size, x.dtype, key)
    decoded_x = case.decoded(x).astype(np.float64)
    sum_of_decoded = decoded_x + case.decoded(y)
    scale = float(np.abs(sum_of_decoded).max(initial=0)) or 1.0
    difference = np.abs(expanded.astype(np.float64) - sum_of_decoded)
    error = float(difference.max()) / scale
    epsilon = float(ml_dtypes.finfo(form.dtype).eps)
    bound = ROUNDING * epsilon
    fault = "the sum of two forms is not the form of the sum"
    yield case.within("linear", error, bound, fault=fault)


def _sums_only(case: CodecCase) -> CheckResult:
    """A linear codec with its own communication rounds must not gather payloads that grow with the buffer."""
    group = RankGroup(case.codec, case.size, case.dtype, 2)
    group.aggregate([case.x, case.x], 0)
    most = 0
    for request in group.requests:
        if isinstance(request, GatherRequest):
            most = max(most, request.payload.size)
    fault = f"gathers payloads of {most} bytes"
    return case.within("linear", most, SMALL_GATHER, fault=fault)
