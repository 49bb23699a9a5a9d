"""What all benchmarks of nouns share on the command line: options of the measurement, progress, notes, the result."""

import argparse
import sys
from typing import TYPE_CHECKING

from ..progress import ProgressLine
from . import options
from .output import show_record
from .quiet import quiet_moment

if TYPE_CHECKING:
    from ..bench.benchmark import Benchmark
    from ..measure.plan import Settings
    from ..measure.quiet import Moment


def arguments(
    parser: argparse.ArgumentParser,
    budget_s: float,
    least_timeout_s: float = 10.0,
) -> None:
    """The options of a benchmark that is timed."""
    options.measuring(parser, budget_s, "rounds of them")
    options.wait_for_quiet(parser)
    options.timeout(
        parser,
        "one answer",
        None,
        f"3 x the budget, at least {least_timeout_s:g}",
    )
    options.seed(parser, "the random order")
    options.out(parser)
    options.report(parser)


def untimed_arguments(parser: argparse.ArgumentParser, least_timeout_s: float) -> None:
    """The options of a benchmark whose result are not times."""
    options.timeout(parser, "one answer", None, f"{least_timeout_s:g}")
    options.out(parser)


def run(args: argparse.Namespace, benchmark: "Benchmark") -> int:
    """Run a benchmark with these options and show its result; returns the exit code of the verb."""
    from ..bench.pipeline import run_benchmark

    settings: Settings = {"timeout_s": args.timeout}
    if benchmark.timed:
        settings = options.measuring_settings(args)
    with ProgressLine() as progress:

        def tell(text: str) -> None:
            progress.close()
            print(f"note: {text}", file=sys.stderr)

        def quiet() -> "Moment":
            threads = benchmark.busy_threads
            return quiet_moment(args, progress, threads, benchmark.fewer_threads)

        record = run_benchmark(
            benchmark,
            quiet=quiet,
            out=args.out,
            progress=progress,
            tell=tell,
            lock_clock=getattr(args, "lock_clock", None),
            **settings,
        )
    return show_record(args, record, page=getattr(args, "report", False))
