"""Runs a convolution in micro-batches, each by its algorithm."""

import itertools
from collections.abc import Sequence
from functools import cache
from typing import cast

import numpy as np

from .. import registry
from ..contracts.convolution import ConvolutionAlgorithm, ConvolutionProblem

Parts = Sequence[tuple[int, str]]  # examples, and the name of the algorithm


# im2col on all images of a micro-batch at once, where im2col itself takes one after the other
WHOLE = "im2col_whole"


def algorithm(name: str, examples: int = 1) -> ConvolutionAlgorithm:
    """The algorithm of this name, for so many examples; raises a Deep500Error that lists them if there is none."""
    if name == WHOLE:
        return _made("im2col", images=examples)
    return _made(name)


@cache
def _made(name: str, **settings: int) -> ConvolutionAlgorithm:
    algorithm_class = registry.named("convolutions", name)
    return cast(ConvolutionAlgorithm, algorithm_class(**settings))


def algorithm_names() -> list[str]:
    """All algorithms, as plans spell them."""
    names = [*map(registry.file_stem, registry.known("convolutions"))]
    return sorted([*names, WHOLE])


def refusal(name: str, problem: ConvolutionProblem, direction: str) -> str | None:
    """Why an algorithm cannot compute this; None if it can."""
    if name == WHOLE and direction != "forward":
        return "gradients go image by image: im2col computes the same"
    return algorithm(name, problem.batch).refusal(problem, direction)


def parts_workspace(
    parts: Parts, problem: ConvolutionProblem, direction: str, threads: int
) -> int:
    """The bytes that all micro-batches use, one after the other: those of the one that needs most."""
    sizes = []
    for examples, name in {*parts}:
        part = problem.with_batch(min(examples, problem.batch))
        own = algorithm(name, part.batch)
        sizes.append(own.workspace(part, direction, threads))
    return max(sizes)


def run_parts(
    parts: Parts,
    problem: ConvolutionProblem,
    direction: str,
    a: np.ndarray,
    b: np.ndarray,
    out: np.ndarray,
    workspace: np.ndarray | None,
    threads: int,
) -> None:
    """Compute `out`, in parts of these sizes in turn until the whole batch is done; the last one may be smaller.

    Parts of a result or of a gradient by the data lie side by side; gradients by the filter add up.
    """
    start = 0
    for examples, name in itertools.cycle(parts):
        stop = min(start + examples, problem.batch)
        rows = slice(start, stop)
        adds_up = direction == "filter"
        algorithm(name, stop - start).run(
            problem.with_batch(stop - start),
            direction,
            a[rows],
            b[rows] if adds_up else b,
            out if adds_up else out[rows],
            workspace,
            accumulate=adds_up and start > 0,
            threads=threads,
        )
        if stop == problem.batch:
            return
        start = stop
