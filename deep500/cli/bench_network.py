"""measure a network on frameworks: latency, throughput, memory, what its operators take; what is timed is checked"""

import argparse

from ..progress import ProgressLine
from . import options
from .output import show_record
from .quiet import quiet_moment


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    options.model(parser)
    options.set_(
        parser,
        "of a file an open dimension (length=64), else the network's (depth=44)",
    )
    options.framework(parser, "pytorch", ["pytorch"])
    options.batch(parser, [1], " (1; several: each is measured)")
    add(
        "--train",
        action="store_true",
        help="a training step as well as an inference",
    )
    add(
        "--execution",
        nargs="+",
        choices=("deferred", "eager", "compiled", "all"),
        default=[],
        help="how networks run: deferred, eager, compiled, or all that a framework has (its usual one)",
    )
    options.threads(parser)
    options.measuring(parser, 30.0, "rounds of them")
    options.wait_for_quiet(parser)
    options.timeout(parser, "one answer", None, "3 x the budget, at least 300")
    options.seed(parser, "the random order")
    options.out(parser)
    options.report(parser)


def call(args: argparse.Namespace) -> int:
    from ..bench.networks.jobs import MODES
    from ..bench.networks.planning import NetworkBenchRequest
    from ..bench.running import measured_network

    threads = options.checked_threads(args.threads)
    request = NetworkBenchRequest(
        args.model,
        options.settings(args.set),
        args.framework,
        args.batch,
        MODES if args.train else MODES[:1],
        args.execution,
        threads,
    )
    with ProgressLine() as progress:
        busy = options.busy_threads(threads, args.framework)
        record = measured_network(
            request,
            quiet=lambda: quiet_moment(args, progress, busy, "use --threads 1"),
            out=args.out,
            progress=progress,
            **options.measuring_settings(args),
        )
    return show_record(args, record, page=args.report)
