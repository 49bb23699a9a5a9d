"""measure a network on frameworks: latency, throughput, memory, what its operators take; what is timed is checked"""

import argparse

from . import benchmarking, options


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    options.model(parser)
    options.set_(
        parser,
        "of a file an open dimension (length=64), else the network's (depth=44)",
    )
    options.transform(parser, "a transformation to measure beside the network as it is")
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
        choices=("deferred", "eager", "compiled", "graph", "all"),
        default=[],
        help="how networks run: deferred, eager, compiled, or all that a framework has (its usual one); graph: eager, "
        "captured on a device and replayed",
    )
    options.cache(parser)
    options.threads(parser)
    options.device(parser)
    options.lock_clock(parser)
    benchmarking.arguments(parser, 30.0, 300.0)


def call(args: argparse.Namespace) -> int:
    from ..bench.network_benchmark import NetworkBenchmark
    from ..bench.networks.jobs import MODES
    from ..bench.threads import checked_threads

    options.on_devices(args)
    benchmark = NetworkBenchmark(
        args.model,
        options.settings(args.set),
        tuple(args.framework),
        tuple(args.batch),
        MODES if args.train else MODES[:1],
        tuple(args.execution),
        checked_threads(args.threads),
        args.cache == "cold",
        args.transform,
    )
    return benchmarking.run(args, benchmark)
