"""Random numbers of other distributions, from those that xp.uniform draws by a key."""

import math

from ..contracts.operator import TensorSpec
from ._dtypes import dtype_of

FINEST = 2.0**-25  # half the distance between two numbers that xp.uniform draws


def normal(xp, key, shape):
    """Normally distributed float64, by Box and Muller: radius and angle of a point in the plane are independent."""
    rows, rest = tuple(shape[:1]) or (1,), tuple(shape[1:])
    numbers = xp.astype(xp.uniform(key, (*rows, 2, *rest)), "float64")
    both = numbers + FINEST  # never 0, of which there is no logarithm
    normal = xp.sqrt(-2 * xp.log(both[:, 0])) * xp.cos(2 * math.pi * both[:, 1])
    return xp.reshape(normal, tuple(shape))


def uniform(xp, key, shape, low, high):
    """float64 between low and high."""
    return low + (high - low) * xp.astype(xp.uniform(key, shape), "float64")


def kind(number, like="float32"):
    """The dtype that an attribute names, or that of the input where it names none."""
    return like if number is None else dtype_of(number)


def like(x, number):
    """What is made in the shape of x."""
    return (TensorSpec(x.shape, kind(number, x.dtype)),)
