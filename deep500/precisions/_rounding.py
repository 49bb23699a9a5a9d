"""Rounds float32 numbers to a narrower format: to the nearest number, or at random up or down."""

from dataclasses import dataclass
from typing import Any

from ..errors import unknown
from ..namespace import Array, Namespace

# The exponent of the smallest normal float32; some engines flush smaller numbers to 0.
SMALLEST_QUANTUM = -126


@dataclass(frozen=True)
class FloatFormat:
    """A binary floating-point format: bits of the fraction, lowest exponent of normal numbers, largest number."""

    fraction: int
    lowest: int
    largest: float

    @property
    def lowest_exponent(self) -> int:
        """The lowest exponent of numbers with all bits of the fraction; smaller numbers are evenly spaced."""
        return max(self.lowest, SMALLEST_QUANTUM + self.fraction)

    @property
    def exponents(self) -> int:
        """A power of two larger than the absolute value of every exponent."""
        if self.lowest_exponent < -32:
            return 128
        return 32


FORMATS = {
    "bfloat16": FloatFormat(7, -126, 2.0**127 * (2 - 2.0**-7)),
    "float16": FloatFormat(10, -14, 65504.0),
    "float8_e4m3fn": FloatFormat(3, -6, 448.0),
    "float8_e5m2": FloatFormat(2, -14, 57344.0),
}


def format_named(name: str) -> FloatFormat:
    if name not in FORMATS:
        raise unknown("format", name, FORMATS)
    return FORMATS[name]


def rounded(xp: Namespace, x: Array, form: FloatFormat, chance: Any = None) -> Array:
    """Return x rounded to the format; values out of its range become its largest number, and nan stays nan.

    Without `chance`, x is rounded to nearest, ties to even. With uniform random numbers of x's shape, it is rounded up
    with a probability of its distance from the lower neighbour in units of the spacing, so that the mean is x.
    """
    size = xp.abs(x)
    bounded = xp.minimum(size, form.largest)
    quantum = _power_of_two(xp, bounded, form) * 2.0**-form.fraction
    quanta = bounded / quantum  # exact, since a quantum is a power of two
    down = xp.floor(quanta)
    remainder = quanta - down
    if chance is None:
        is_odd = down - 2 * xp.floor(down * 0.5) == 1
        is_tie = remainder == 0.5
        up = (remainder > 0.5) | (is_tie & is_odd)
    else:
        up = chance < remainder
    rounded_quanta = xp.where(up, down + 1, down)
    result = xp.minimum(rounded_quanta * quantum, form.largest)
    signed = xp.where(x < 0, -result, result)
    return xp.where(xp.isnan(x), x, signed)


def _power_of_two(xp: Namespace, size: Array, form: FloatFormat) -> Array:
    """The largest power of two that is at most `size`, and at least that of the format's lowest exponent.

    Comparisons and products with powers of two are exact on every engine; logarithms are not.
    """
    mantissa = xp.maximum(size, 2.0**form.lowest_exponent)
    power = xp.ones_like(mantissa)
    step = form.exponents // 2
    while step:
        is_large = mantissa >= 2.0**step
        mantissa = xp.where(is_large, mantissa * 2.0**-step, mantissa)
        power = xp.where(is_large, power * 2.0**step, power)
        is_small = mantissa < 2.0 ** (1 - step)
        mantissa = xp.where(is_small, mantissa * 2.0**step, mantissa)
        power = xp.where(is_small, power * 2.0**-step, power)
        step //= 2
    return power
