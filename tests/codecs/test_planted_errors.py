"""Codecs with one error each, which `check_codec` must find."""

from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.codecs.one_bit import OneBit
from deep500.codecs.qsgd import QSGD
from deep500.codecs.top_k import TopK
from deep500.contracts.codec import Codec, Exchange, Key


class BiasedRounding(QSGD):
    """Rounds to the nearest level and calls itself unbiased."""

    def encode(self, x: np.ndarray, key: Key) -> np.ndarray:
        rows = np.repeat(self.norms_of(x), self.bucket)[: x.size]
        safe = np.where(rows > 0, rows, 1)
        nearest = np.rint(x / safe * self.levels) / self.levels * safe
        return super().encode(nearest.astype(x.dtype), key)


class ResidualDropped(TopK):
    def exchange(self, x: Any, state: Any, key: Any, slots: Any) -> Any:
        exchange = yield from super().exchange(x, state, key, slots)
        return Exchange(exchange.mean, np.zeros_like(x))


class ResidualScaled(TopK):
    def exchange(self, x: Any, state: Any, key: Any, slots: Any) -> Any:
        exchange = yield from super().exchange(x, state, key, slots)
        return Exchange(exchange.mean, exchange.residual * x.dtype.type(0.9))


class WireBytesWrong(OneBit):
    """Forgets the two means of every bucket."""

    def wire_bytes(self, size: int, dtype: Any = "float32") -> int:
        return -(-size // 8)

    def encode(self, x: np.ndarray, key: Key) -> np.ndarray:
        return OneBit(self.bucket).encode(x, key)

    def decode(self, payload: np.ndarray, size: int, dtype: Any) -> np.ndarray:
        return OneBit(self.bucket).decode(payload, size, dtype)


class Unpacked(Codec):
    """A byte for every sign, as in GRACE."""

    error_feedback = True

    def encode(self, x: np.ndarray, key: Key) -> np.ndarray:
        mean = np.array([np.abs(x).mean() if x.size else 0], x.dtype)
        return np.concatenate([mean.view(np.uint8), (x >= 0).astype(np.uint8)])

    def decode(self, payload: np.ndarray, size: int, dtype: Any) -> np.ndarray:
        boundary = np.dtype(dtype).itemsize
        mean = payload[:boundary].view(dtype)[0]
        return np.where(payload[boundary:], mean, -mean).astype(dtype)

    def wire_bytes(self, size: int, dtype: Any = "float32") -> int:
        return np.dtype(dtype).itemsize + size


class WrongSign(OneBit):
    """Decodes bits the wrong way round."""

    def decode(self, payload: np.ndarray, size: int, dtype: Any) -> np.ndarray:
        return -super().decode(payload, size, dtype)


class ZeroOverZero(QSGD):
    """Divides by the norm of a bucket without a look at it."""

    def decode(self, payload: np.ndarray, size: int, dtype: Any) -> np.ndarray:
        decoded = super().decode(payload, size, dtype)
        norms, _ = self.parts(payload, size, dtype)
        each = np.repeat(norms, self.bucket)[:size]
        with np.errstate(invalid="ignore"):
            return decoded / each * each


class SumForMean(QSGD):
    """Forgets to divide by the number of ranks."""

    def mean(self, payloads: Any, size: int, dtype: Any) -> np.ndarray:
        return super().mean(payloads, size, dtype) * np.dtype(dtype).type(len(payloads))


class NotDeterministic(QSGD):
    """Draws from NumPy's global generator."""

    def encode(self, x: np.ndarray, key: Key) -> np.ndarray:
        return super().encode(x, Key(int(np.random.default_rng().integers(2**31))))


class NotLinear(QSGD):
    """Says that sums of its codes mean something."""

    linear = True

    def compress(self, x: np.ndarray, key: Key) -> np.ndarray:
        return self.encode(x, key).astype(x.dtype)

    def expand(self, form: np.ndarray, size: int, dtype: Any, key: Key) -> np.ndarray:
        return self.decode(form.astype(np.uint8), size, dtype)


class HidesNaN(QSGD):
    def encode(self, x: np.ndarray, key: Key) -> np.ndarray:
        return super().encode(np.nan_to_num(x, posinf=0, neginf=0), key)


class KeepsTooLittle(TopK):
    """Declares to keep twice of what it keeps."""

    contraction = 0.9999


class TooNoisy(QSGD):
    variance = 1e-9


class Aliases(Codec):
    """Decodes to the payload's own memory, which a sum then overwrites."""

    def encode(self, x: np.ndarray, key: Key) -> np.ndarray:
        return x.view(np.uint8)

    def decode(self, payload: np.ndarray, size: int, dtype: Any) -> np.ndarray:
        return payload.view(dtype)

    def wire_bytes(self, size: int, dtype: Any = "float32") -> int:
        return size * np.dtype(dtype).itemsize


FAULTS = {
    BiasedRounding: "unbiased",
    ResidualDropped: "sent + residual",
    ResidualScaled: "sent + residual",
    WireBytesWrong: "size",
    Unpacked: "packing",
    WrongSign: "contraction",
    ZeroOverZero: "zeros",
    SumForMean: "mean",
    NotDeterministic: "deterministic",
    NotLinear: "linear",
    HidesNaN: "special values",
    KeepsTooLittle: "contraction",
    TooNoisy: "variance",
    Aliases: "accumulate",
}


@pytest.mark.parametrize("wrong", FAULTS, ids=lambda cls: cls.__name__)
def test_a_planted_error_is_found(wrong: Any) -> None:
    report = d5.check_codec(wrong(), dtypes=["float32"])
    assert FAULTS[wrong] in {check.name for check in report.wrong}


def test_a_codec_that_raises_is_wrong() -> None:
    class Broken(QSGD):
        def encode(self, x: Any, key: Any) -> Any:
            return [][0]

    report = d5.check_codec(Broken(), dtypes=["float32"])
    assert "raises IndexError" in report.wrong[0].text
