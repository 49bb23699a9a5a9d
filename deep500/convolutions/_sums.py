"""How far a convolution may be from exact if it adds up products of elements, in any order."""

import math

import numpy as np

from ..contracts.convolution import ConvolutionProblem
from ._exact import exact
from ._kernel import UNIT, Kernel

FACTOR = 4  # correct kernels were seen to need up to 2


def bound_of(
    depth: float, energy: np.ndarray, result: np.ndarray, factor: float = FACTOR
) -> np.ndarray:
    """The bound of sums of `depth` terms, whose squares add up to `energy`.

    Roundings add up as random numbers do: with the root of their number, and of the squares of what is rounded.
    """
    spread: np.ndarray = np.sqrt(energy + np.square(result))
    return factor * UNIT * math.sqrt(1 + depth) * spread + 2.0**-126


class SumOfProducts(Kernel):
    """An algorithm that multiplies elements of its two arguments, and adds the products."""

    def operations(self, problem: ConvolutionProblem, direction: str) -> int:
        return problem.direct_operations

    def bound(
        self, problem: ConvolutionProblem, direction: str, a: np.ndarray, b: np.ndarray
    ) -> np.ndarray:
        energy = exact(
            problem, direction, np.square(a, dtype=float), np.square(b, dtype=float)
        )
        result = exact(problem, direction, a, b)
        return bound_of(terms(problem, direction), energy, result)


def terms(problem: ConvolutionProblem, direction: str) -> int:
    """How many products one element of the result adds up."""
    taps = math.prod(problem.kernel)
    if direction == "forward":
        return taps * problem.channels // problem.groups
    if direction == "data":
        return taps * problem.filters // problem.groups
    return math.prod(problem.out_shape[2:]) * problem.batch
