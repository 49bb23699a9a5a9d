"""What every payload promises: its length, its bits, what it is decoded to."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...contracts.codec import Codec, Key
from ...errors import one_line
from ..checking.report import Check
from .inputs import REGIMES, SIZES, gradient

UNUSED = 0.45  # of the bits of a payload that may always be the same: exponents, high bits of indices
PATTERNS = 32  # inputs that are compared for that
PATTERN_SIZE = 20_000


@dataclass(frozen=True)
class Case:
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
    def key(self) -> Key:
        return Key(self.seed, tensor="checked")

    def decoded(self, x: np.ndarray, key: Key | None = None) -> np.ndarray:
        payload = self.codec.encode(x, key or self.key)
        return self.codec.decode(payload, x.size, x.dtype)

    def check(
        self,
        name: str,
        ok: bool | None,
        value: float | None = None,
        bound: float | None = None,
        text: str = "",
        fault: str = "",
    ) -> Check:
        """A check of this case; `fault` is the text if it fails."""
        case = f"{self.size} elements"
        if fault and ok is False:
            text = fault
        return Check(name, ok, value, bound, text, self.dtype, case, self.regime)


def cases(codec: Codec, dtype: str, seed: int) -> list[Case]:
    """Every regime in every size."""
    all_cases = []
    for regime in REGIMES:
        for size in SIZES:
            all_cases.append(Case(codec, regime, size, dtype, seed))
    return all_cases


def guarded(case: Case, name: str, checks: Iterator[Check]) -> Iterator[Check]:
    """The checks; an exception or a warning of the codec is a fault."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield from checks
    except Exception as error:
        yield case.check(name, False, text=f"raises {one_line(error, kind=True)}")


def check_coding(case: Case) -> Iterator[Check]:
    """One input, encoded and decoded."""
    x = case.x
    payload = case.codec.encode(x, case.key)
    again = case.codec.encode(x.copy(), case.key)
    yield _size(case, payload)
    same = np.array_equal(payload, again)
    yield case.check("deterministic", same, fault="the same key gives other bytes")
    decoded = case.codec.decode(payload, x.size, x.dtype)
    yield _round_trip(case, decoded)
    finite = bool(np.isfinite(decoded).all())
    yield case.check(
        "finite", finite, fault="finite numbers are decoded as NaN or infinite"
    )
    yield _accumulation(case, payload, decoded)


def _size(case: Case, payload: np.ndarray) -> Check:
    codec, length = case.codec, payload.nbytes
    if payload.dtype != np.uint8 or payload.ndim != 1:
        form = f"{payload.dtype}{payload.shape}"
        return case.check("size", False, fault=f"the payload is {form}, not flat uint8")
    least = most = codec.wire_bytes(case.size, case.dtype)
    if not codec.fixed_size:
        least = codec.least_wire_bytes(case.size, case.dtype)
    fault = f"the payload has {length} bytes, and {least} to {most} are declared"
    return case.check("size", least <= length <= most, length, most, fault=fault)


def _round_trip(case: Case, decoded: np.ndarray) -> Check:
    ok = decoded.shape == (case.size,) and decoded.dtype == case.dtype
    fault = f"decoded as {decoded.dtype}{list(decoded.shape)}"
    return case.check("round trip", ok, fault=fault)


def _accumulation(case: Case, payload: np.ndarray, decoded: np.ndarray) -> Check:
    """Adding a payload to a buffer is adding what it is decoded to."""
    total = np.full(case.size, 2, case.dtype)
    case.codec.accumulate(payload, total, -1.0)
    expected = np.full(case.size, 2, case.dtype) - decoded
    scale = 2 + np.abs(decoded).max(initial=0)
    error = float(np.abs(total - expected).max(initial=0) / scale)
    bound = 4 * float(np.finfo(case.dtype).eps)
    return case.check("accumulate", error <= bound, error, bound)


def check_zeros(case: Case) -> Iterator[Check]:
    decoded = case.decoded(np.zeros(case.size, case.dtype))
    ok = not decoded.any()  # NaN counts as something
    yield case.check("zeros", ok, fault="zeros are decoded as something else")


def check_special_values(case: Case) -> Iterator[Check]:
    """A number that is not finite must not disappear."""
    for value in (np.nan, np.inf, -np.inf):
        x = case.x
        x[case.size // 3] = value
        decoded = case.decoded(x)
        hidden = bool(np.isfinite(decoded).all())
        fault = f"{value} is decoded as if all were finite"
        yield case.check("special values", not hidden, fault=fault)
    if case.codec.largest * 2 < float(np.finfo(case.dtype).max):
        x = case.x
        x[0] = case.codec.largest * 2
        first = case.decoded(x)[0]  # or 0, where it was not selected
        infinite = bool(np.isinf(first)) or first == 0
        fault = f"{x[0]:g} is above `largest`, and is not decoded as infinite"
        yield case.check("special values", infinite, fault=fault)


def check_packing(codec: Codec, dtype: str, seed: int) -> Iterator[Check]:
    """How many bits of a payload are the same whatever is encoded: a byte for every bit wastes seven."""
    case = Case(codec, "normal", PATTERN_SIZE, dtype, seed)
    if not codec.fixed_size:
        yield case.check("packing", None, text="its payloads differ in length")
        return
    payloads = []
    for number in range(PATTERNS):
        x = gradient(codec, "normal", PATTERN_SIZE, dtype, seed + 1 + number)
        payloads.append(codec.encode(x, Key(seed, number)))
    same = np.bitwise_and.reduce(payloads) | ~np.bitwise_or.reduce(payloads)
    share = float(np.unpackbits(same).mean())
    fault = f"{100 * share:.0f} % of the bits are always the same: they are not packed"
    yield case.check("packing", share <= UNUSED, share, UNUSED, fault=fault)
