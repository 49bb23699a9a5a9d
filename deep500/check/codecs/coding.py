"""The checks of a single payload: its length, its bits, and what it is decoded to."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...contracts.codec import Codec, Key
from ...errors import (
    Deep500Error,
    Incomplete,
    one_line,
    raise_if_mistake,
    with_place,
)
from ..report import CheckResult
from .inputs import REGIMES, SIZES, gradient

UNUSED = 0.45  # the share of a payload's bits that may always be the same: exponents, high bits of indices
PATTERNS = 32  # how many payloads are compared for that
PATTERN_SIZE = 20_000
LONGEST = 1000  # characters of a message


@dataclass(frozen=True)
class CodecCase:
    """One input of one codec."""

    codec: Codec
    regime: str
    size: int
    dtype: str
    seed: int

    @property
    def x(self) -> np.ndarray:
        return gradient(self.codec, self.regime, self.size, self.dtype, self.seed)

    @property
    def epsilon(self) -> float:
        """The machine epsilon of the dtype."""
        return float(np.finfo(self.dtype).eps)

    @property
    def key(self) -> Key:
        return Key(self.seed, tensor="checked")

    @property
    def _name(self) -> str:
        """How long the input is; nothing where checks of many inputs have ended early, which have no regime."""
        if not self.regime:
            return ""
        return "1 element" if self.size == 1 else f"{self.size} elements"

    def decoded(self, x: np.ndarray, key: Key | None = None) -> np.ndarray:
        payload = self.codec.encoded(x, key or self.key)
        return self.codec.decoded(payload, x.size, x.dtype)

    def check(
        self,
        name: str,
        ok: bool | None,
        value: float | None = None,
        bound: float | None = None,
        text: str = "",
        fault: str = "",
    ) -> CheckResult:
        """A check of this case; `fault` replaces the text if it fails."""
        case = self._name
        if fault and ok is False:
            text = fault
        return CheckResult(name, ok, value, bound, text, self.dtype, case, self.regime)

    def within(
        self,
        name: str,
        value: float,
        bound: float,
        text: str = "",
        fault: str = "",
    ) -> CheckResult:
        """A check that a value is not above its bound; `fault` replaces the text if it is."""
        return self.check(name, value <= bound, value, bound, text, fault)


def cases(codec: Codec, dtype: str, seed: int) -> list[CodecCase]:
    """One case for each regime and size."""
    all_cases = []
    for regime in REGIMES:
        for size in SIZES:
            all_cases.append(CodecCase(codec, regime, size, dtype, seed))
    return all_cases


def guarded(
    case: CodecCase, name: str, checks: Iterator[CheckResult]
) -> Iterator[CheckResult]:
    """The checks; if one raises an exception or a warning, a failed check of this name ends them."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield from checks
    except Incomplete:
        raise
    except Deep500Error as error:
        yield case.check(name, False, text=one_line(error, LONGEST))
    except Exception as error:
        raise_if_mistake(error)
        yield case.check(name, False, text=f"raises {with_place(error)}")


def check_coding(case: CodecCase) -> Iterator[CheckResult]:
    """The checks of one input that is encoded and decoded."""
    x = case.x
    payload = case.codec.encoded(x, case.key)
    again = case.codec.encoded(x.copy(), case.key)
    yield _size(case, payload)
    same = np.array_equal(payload, again)
    yield case.check("deterministic", same, fault="the same key gives other bytes")
    decoded = case.codec.decoded(payload, x.size, x.dtype)
    yield _round_trip(case, decoded)
    finite = bool(np.isfinite(decoded).all())
    fault = "finite numbers are decoded as NaN or infinite"
    yield case.check("finite", finite, fault=fault)
    yield _accumulation(case, payload, decoded)


def _size(case: CodecCase, payload: np.ndarray) -> CheckResult:
    codec = case.codec
    length = payload.nbytes
    if payload.dtype != np.uint8 or payload.ndim != 1:
        form = f"{payload.dtype}{payload.shape}"
        return case.check("size", False, fault=f"the payload is {form}, not flat uint8")
    least = most = codec.wire_bytes(case.size, case.dtype)
    if not codec.fixed_size:
        least = codec.least_wire_bytes(case.size, case.dtype)
    ok = least <= length <= most
    fault = f"the payload has {length} bytes, and {least} to {most} are declared"
    return case.check("size", ok, length, most, fault=fault)


def _round_trip(case: CodecCase, decoded: np.ndarray) -> CheckResult:
    right_shape = decoded.shape == (case.size,)
    right_dtype = decoded.dtype == case.dtype
    shape = list(decoded.shape)
    fault = f"decoded as {decoded.dtype}{shape}"
    return case.check("round trip", right_shape and right_dtype, fault=fault)


def _accumulation(
    case: CodecCase, payload: np.ndarray, decoded: np.ndarray
) -> CheckResult:
    """Accumulating a payload in a buffer must add what it is decoded to."""
    start = np.full(case.size, 2, case.dtype)
    total = start.copy()
    case.codec.accumulate(payload, total, -1.0)
    expected = start - decoded
    scale = 2 + np.abs(decoded).max(initial=0)
    difference = np.abs(total - expected)
    error = float(difference.max(initial=0) / scale)
    return case.within("accumulate", error, 4 * case.epsilon)


def check_zeros(case: CodecCase) -> Iterator[CheckResult]:
    zeros = np.zeros(case.size, case.dtype)
    decoded = case.decoded(zeros)
    ok = not decoded.any()  # NaN is not zero
    yield case.check("zeros", ok, fault="zeros are decoded as something else")


def check_special_values(case: CodecCase) -> Iterator[CheckResult]:
    """A number that is not finite must not be decoded as a finite one."""
    for value in (np.nan, np.inf, -np.inf):
        x = case.x
        x[case.size // 3] = value
        decoded = case.decoded(x)
        hidden = bool(np.isfinite(decoded).all())
        fault = f"{value} is decoded as if all were finite"
        yield case.check("special values", not hidden, fault=fault)
    too_large = case.codec.largest * 2
    if too_large < float(np.finfo(case.dtype).max):
        x = case.x
        x[0] = too_large
        first = case.decoded(x)[0]
        # 0 if it was not selected
        infinite = bool(np.isinf(first)) or first == 0
        fault = f"{x[0]:g} is above `largest`, and is not decoded as infinite"
        yield case.check("special values", infinite, fault=fault)


def check_packing(codec: Codec, dtype: str, seed: int) -> Iterator[CheckResult]:
    """The share of bits that are the same in all payloads must be small: a byte for every bit would waste seven."""
    case = CodecCase(codec, "normal", PATTERN_SIZE, dtype, seed)
    if not codec.fixed_size:
        yield case.check("packing", None, text="its payloads differ in length")
        return
    payloads = []
    for number in range(PATTERNS):
        x_seed = seed + 1 + number
        x = gradient(codec, "normal", PATTERN_SIZE, dtype, x_seed)
        key = Key(seed, number)
        payloads.append(codec.encoded(x, key))
    always_one = np.bitwise_and.reduce(payloads)
    always_zero = ~np.bitwise_or.reduce(payloads)
    share = float(np.unpackbits(always_one | always_zero).mean())
    percent = f"{100 * share:.0f} %"
    fault = f"{percent} of the bits are always the same: they are not packed"
    yield case.within("packing", share, UNUSED, fault=fault)
