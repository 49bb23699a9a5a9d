"""Conv by one of Deep500's own algorithms, in place of the framework's kernel."""

import os
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from .. import registry
from ..contracts.convolution import ConvolutionAlgorithm, ConvolutionProblem
from ..contracts.dtypes import name_of
from ..contracts.operator import TensorSpec
from ..errors import Deep500Error, unknown
from ._sliding import SlidingWindows


@cache
def algorithm_named(word: str) -> ConvolutionAlgorithm:
    """The algorithm of a name such as "winograd4"; a Deep500Error with all names for another one."""
    if not registry.has("convolutions", word):
        names = [registry.file_stem(name) for name in registry.known("convolutions")]
        raise unknown("algorithm of Conv", word, names)
    algorithm = registry.named("convolutions", word)()
    assert isinstance(algorithm, ConvolutionAlgorithm)
    return algorithm


def problem_of(x: Any, w: Any, windows: SlidingWindows, groups: int) -> ConvolutionProblem:
    """The convolution of such tensors; one over a single axis has a height of 1."""
    if len(x.shape) not in (3, 4):
        axes = len(x.shape) - 2
        raise Deep500Error(
            f"algorithms of Conv work over one or two axes, and there are {axes}: leave algorithm out"
        )
    is_line = len(x.shape) == 3
    (top, bottom), (left, right) = [*[(0, 0)] * is_line, *windows.pads]
    height, width = _two_axes(x.shape[2:])
    return ConvolutionProblem(
        x.shape[0],
        x.shape[1],
        height,
        width,
        w.shape[0],
        kernel=_two_axes(w.shape[2:]),
        strides=_two_axes(windows.strides),
        pads=(top, left, bottom, right),
        dilations=_two_axes(windows.dilations),
        groups=groups,
        dtype=name_of(x.dtype),
    )


def _two_axes(sizes: Sequence[int]) -> tuple[int, int]:
    """The sizes, after a 1 if there is only one."""
    if len(sizes) == 1:
        return 1, sizes[0]
    return sizes[0], sizes[1]


def run_on_host(
    xp: Any,
    algorithm: ConvolutionAlgorithm,
    problem: ConvolutionProblem,
    direction: str,
    a: Any,
    b: Any,
    shape: Sequence[int],
) -> Any:
    """The result in this shape, as an array of the framework."""
    *shapes, result_shape = problem.shapes(direction)

    def run(*values: np.ndarray) -> list[np.ndarray]:
        first, second = (
            np.ascontiguousarray(value).reshape(own)
            for value, own in zip(values, shapes, strict=True)
        )
        result = np.empty(result_shape, np.float32)
        threads = xp.threads or len(os.sched_getaffinity(0))
        algorithm.run(problem, direction, first, second, result, threads=threads)
        return [result.reshape(shape)]

    run.__qualname__ = f"{type(algorithm).__name__}.{direction}"  # for error messages
    (result,) = xp.host(run, [TensorSpec(tuple(shape))], a, b)
    return result


def bound_in_shape(
    algorithm: ConvolutionAlgorithm,
    problem: ConvolutionProblem,
    direction: str,
    a: np.ndarray,
    b: np.ndarray,
    shape: Sequence[int],
) -> np.ndarray:
    """How far each element may be from the exact result, in this shape."""
    first, second, _ = problem.shapes(direction)
    bound = algorithm.bound(problem, direction, a.reshape(first), b.reshape(second))
    return bound.reshape(shape)
