"""Runs a convolution in micro-batches, each by its algorithm."""

import itertools
from collections.abc import Sequence
from functools import cache
from typing import cast

import numpy as np

from .. import registry
from ..contracts.convolution import ConvolutionAlgorithm, ConvolutionProblem

Parts = Sequence[tuple[int, str]]  # examples, and the name of the algorithm


@cache
def algorithm(name: str) -> ConvolutionAlgorithm:
    """The algorithm of this name, in any spelling; raises a Deep500Error that lists them if there is none."""
    algorithm_class = registry.named("convolutions", name)
    return cast(ConvolutionAlgorithm, algorithm_class())


def algorithm_names() -> list[str]:
    """All algorithms, as plans spell them."""
    return [name.lower() for name in registry.known("convolutions")]


def parts_workspace(
    parts: Parts, problem: ConvolutionProblem, direction: str, threads: int
) -> int:
    """The bytes that all micro-batches use, one after the other: those of the one that needs most."""
    sizes = []
    for examples, name in {*parts}:
        part = problem.with_batch(min(examples, problem.batch))
        sizes.append(algorithm(name).workspace(part, direction, threads))
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
        algorithm(name).run(
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
