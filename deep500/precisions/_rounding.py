"""Numbers of a narrower format, held in float32: rounded to nearest, or up or down by chance."""

from dataclasses import dataclass
from typing import Any

from ..errors import unknown
from ..namespace import Array, Namespace

SMALLEST_QUANTUM = (
    -126
)  # the exponent of float32's smallest normal number: below it, some engines flush to 0


@dataclass(frozen=True)
class Format:
    """A binary floating-point format: bits of the fraction, exponents of normal numbers, largest number."""

    fraction: int
    lowest: int
    largest: float

    @property
    def lowest_exponent(self) -> int:
        """Of the numbers that have all bits of the fraction; below it, numbers lie equally far apart."""
        return max(self.lowest, SMALLEST_QUANTUM + self.fraction)

    @property
    def exponents(self) -> int:
        """A power of two above the size of every exponent."""
        return 128 if self.lowest_exponent < -32 else 32


FORMATS = {
    "bfloat16": Format(7, -126, 2.0**127 * (2 - 2.0**-7)),
    "float16": Format(10, -14, 65504.0),
    "float8_e4m3fn": Format(3, -6, 448.0),
    "float8_e5m2": Format(2, -14, 57344.0),
}


def format_named(name: str) -> Format:
    if name not in FORMATS:
        raise unknown("format", name, FORMATS)
    return FORMATS[name]


def rounded(xp: Namespace, x: Array, form: Format, chance: Any = None) -> Array:
    """x as the format has it, beyond its largest number that one (it saturates); not a number stays so.

    Without `chance`, to the nearest and of two equally near ones to the even. With uniform numbers of x's shape, up
    with the probability of the share of the way up, so that the mean is x.
    """
    size = xp.abs(x)
    bounded = xp.minimum(size, form.largest)
    quantum = _power_of_two(xp, bounded, form) * 2.0**-form.fraction
    quanta = bounded / quantum  # exact, for a quantum is a power of two
    down = xp.floor(quanta)
    rest = quanta - down
    if chance is None:
        odd = down - 2 * xp.floor(down * 0.5) == 1
        up = (rest > 0.5) | ((rest == 0.5) & odd)
    else:
        up = chance < rest
    result = xp.minimum(xp.where(up, down + 1, down) * quantum, form.largest)
    signed = xp.where(x < 0, -result, result)
    return xp.where(xp.isnan(x), x, signed)


def _power_of_two(xp: Namespace, size: Array, form: Format) -> Array:
    """The largest power of two that is at most `size`, and at least that of the format's lowest exponent.

    Comparisons and products with powers of two are exact on every engine; logarithms are not.
    """
    rest = xp.maximum(size, 2.0**form.lowest_exponent)
    power = xp.ones_like(rest)
    step = form.exponents // 2
    while step:
        large = rest >= 2.0**step
        rest = xp.where(large, rest * 2.0**-step, rest)
        power = xp.where(large, power * 2.0**step, power)
        small = rest < 2.0 ** (1 - step)
        rest = xp.where(small, rest * 2.0**step, rest)
        power = xp.where(small, power * 2.0**-step, power)
        step //= 2
    return power
