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


@cache
def algorithm_named(word: str) -> ConvolutionAlgorithm:
    """The algorithm of a name such as "winograd4"; a Deep500Error with all names for another one."""
    if not registry.has("convolutions", word):
        names = [registry.file_stem(name) for name in registry.known("convolutions")]
        raise unknown("algorithm of Conv", word, names)
    algorithm = registry.named("convolutions", word)()
    assert isinstance(algorithm, ConvolutionAlgorithm)
    return algorithm


def problem_of(
    x: Any, w: Any, windows: Any, groups: int, batch: int | None = None
) -> ConvolutionProblem:
    """The convolution of such tensors; one over a single axis has a height of 1."""
    if len(x.shape) not in (3, 4):
        axes = len(x.shape) - 2
        raise Deep500Error(
            f"algorithms of Conv work over one or two axes, and there are {axes}: leave algorithm out"
        )
    strides, pads, dilations = windows
    count, channels, *sizes = x.shape
    filters, _, *kernel = w.shape
    ones = [1] * (2 - len(sizes))
    no_pads = [(0, 0)] * len(ones)
    (top, bottom), (left, right) = [*no_pads, *pads]
    return ConvolutionProblem(
        count if batch is None else batch,
        channels,
        *ones,
        *sizes,
        filters,
        kernel=_pair(ones, kernel),
        strides=_pair(ones, strides),
        pads=(top, left, bottom, right),
        dilations=_pair(ones, dilations),
        groups=groups,
        dtype=name_of(x.dtype),
    )


def _pair(ones: Sequence[int], sizes: Sequence[int]) -> tuple[int, int]:
    first, second = (*ones, *sizes)
    return first, second


def run_on_host(
    xp: Any,
    algorithm: ConvolutionAlgorithm,
    direction: str,
    windows: Any,
    groups: int,
    a: Any,
    b: Any,
    like: Sequence[Any],
    out: TensorSpec,
) -> Any:
    """The result in the framework's own arrays; `like` holds tensors (or specs) with the shapes of x and w."""

    def run(first: np.ndarray, second: np.ndarray) -> list[np.ndarray]:
        batch = first.shape[0]
        problem = problem_of(*like, windows, groups, batch)
        shapes = problem.shapes(direction)
        arrays = []
        for array, shape in zip((first, second), shapes, strict=False):
            arrays.append(np.ascontiguousarray(array, np.float32).reshape(shape))
        result = np.empty(shapes[2], np.float32)
        threads = xp.threads or len(os.sched_getaffinity(0))
        algorithm.run(problem, direction, *arrays, result, threads=threads)
        shape = list(out.shape)
        if direction != "filter":
            shape[0] = batch
        return [result.reshape(shape)]

    run.__qualname__ = f"{type(algorithm).__name__}.{direction}"  # for error messages
    (result,) = xp.host(run, [out], a, b)
    return result


def bounds_of(
    algorithm: ConvolutionAlgorithm,
    direction: str,
    problem: ConvolutionProblem,
    a: np.ndarray,
    b: np.ndarray,
    shape: Sequence[int],
) -> np.ndarray:
    """How far the algorithm may be from the exact result, in its shape."""
    shapes = problem.shapes(direction)
    bound = algorithm.bound(
        problem, direction, a.reshape(shapes[0]), b.reshape(shapes[1])
    )
    return bound.reshape(shape)
