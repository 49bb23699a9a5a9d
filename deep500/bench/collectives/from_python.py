"""Benchmarks of collectives from Python, and the networks that they fit."""

from collections.abc import Sequence
from pathlib import Path

from ...bundle.records.loading import load
from ...contracts.fitted_loggp import FittedLogGP
from ...contracts.result import Record
from ...errors import Deep500Error
from ...measure.running import Progress
from ...results.collectives.numbers import CollectiveNumbers
from ..collective_benchmark import DTYPES, SIZES, CollectiveBenchmark
from ..pipeline import run_benchmark


def bench_collective(
    transport: str | Sequence[str] = "mpi",
    ranks: int | Sequence[int] = 2,
    *,
    algorithm: Sequence[str] = ("all",),
    operation: Sequence[str] = ("all_reduce",),
    size: Sequence[str] = SIZES,
    dtype: Sequence[str] = DTYPES[:1],
    launches: int = 6,
    seconds: float = 5.0,
    calls: int = 1,
    overlap: bool = False,
    start: str = "window",
    hold_out: Sequence[str] = ("Rabenseifner()",),
    seed: int = 0,
    out: str | Path | None = None,
    progress: Progress | None = None,
) -> Record:
    """Measure collectives as `d5 bench collective` does; returns the record of the bundle."""
    transports = [transport] if isinstance(transport, str) else transport
    counts = [ranks] if isinstance(ranks, int) else ranks
    benchmark = CollectiveBenchmark(
        transport=tuple(transports),
        ranks=tuple(counts),
        algorithm=tuple(algorithm),
        operation=tuple(operation),
        size=tuple(size),
        dtype=tuple(dtype),
        launches=launches,
        seconds=seconds,
        calls=calls,
        overlap=overlap,
        start=start,
        hold_out=tuple(hold_out),
        seed=seed,
    )
    return run_benchmark(benchmark, out=out, progress=progress)


def fitted_network(bundle: str | Path, transport: str = "mpi") -> FittedLogGP:
    """The network that a benchmark of collectives has fitted to the times over a transport."""
    numbers = load(bundle).derived
    if not isinstance(numbers, CollectiveNumbers):
        raise Deep500Error(
            f"{bundle} is no benchmark of collectives: give one that `d5 bench collective` has made"
        )
    fits = {fit.transport: fit for fit in numbers.fits}
    if transport not in fits:
        known = ", ".join(fits) or "none"
        raise Deep500Error(
            f"{bundle} has fitted no network over {transport}, but over {known}: measure more sizes or algorithms"
        )
    return fits[transport].network.network
