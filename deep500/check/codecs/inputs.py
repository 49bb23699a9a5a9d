"""Buffers that resemble gradients: normal, heavy-tailed, sparse, constant, tiny, huge."""

from collections.abc import Callable

import numpy as np

from ...contracts.codec import Codec

SIZES = (0, 1, 7, 1000)
HEADROOM = 0.5  # of the largest number that a codec can represent

Generator = np.random.Generator


def _normal(rng: Generator, size: int) -> np.ndarray:
    return rng.standard_normal(size)


def _heavy_tailed(rng: Generator, size: int) -> np.ndarray:
    values = rng.standard_t(1.5, size)
    return np.clip(values, -1e4, 1e4)


def _sparse(rng: Generator, size: int) -> np.ndarray:
    """Mostly zeros: one element in ten has a value in the first half, none in the second."""
    normal = rng.standard_normal(size)
    is_present = rng.random(size) < 0.1
    values = normal * is_present
    values[size // 2 :] = 0
    return values


def _constant(rng: Generator, size: int) -> np.ndarray:
    return np.full(size, -0.3)


def _tiny(rng: Generator, size: int) -> np.ndarray:
    return rng.standard_normal(size) * 1e-15


def _huge(rng: Generator, size: int) -> np.ndarray:
    return rng.standard_normal(size) * 1e15


REGIMES: dict[str, Callable[[Generator, int], np.ndarray]] = {
    "normal": _normal,
    "heavy-tailed": _heavy_tailed,
    "sparse": _sparse,
    "constant": _constant,
    "tiny": _tiny,
    "huge": _huge,
}


def gradient(codec: Codec, regime: str, size: int, dtype: str, seed: int) -> np.ndarray:
    """A buffer whose numbers the codec can represent."""
    number = list(REGIMES).index(regime)
    rng = np.random.default_rng([seed, size, number])
    draw = REGIMES[regime]
    values = draw(rng, size).astype(dtype)
    most = np.abs(values).max(initial=0)
    limit = HEADROOM * codec.largest
    if most > limit:
        values *= np.dtype(dtype).type(limit / most)
    return values
