"""how exact exp, log, tanh, erf … are on each framework: errors in units in the last place, against mpmath"""

import argparse

from . import benchmarking, options

DTYPES = ("float32", "float64")


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "functions",
        nargs="*",
        metavar="FUNCTION",
        help="exp, log, erf … (all of them)",
    )
    options.framework(parser, "all that are installed")
    options.dtype(parser, ["float32"], DTYPES)
    add(
        "--n",
        type=int,
        default=1000,
        metavar="N",
        help="how many arguments are drawn (1000)",
    )
    options.seed(parser, "the arguments", 0)
    options.timeout(parser, "one function", None, "600")
    options.out(parser)


def call(args: argparse.Namespace) -> int:
    from ..bench.elementary.functions import FUNCTIONS
    from ..bench.elementary_benchmark import ElementaryBenchmark
    from ..frameworks import available_frameworks

    benchmark = ElementaryBenchmark(
        tuple(args.functions or FUNCTIONS),
        tuple(args.framework or available_frameworks()),
        tuple(args.dtype),
        args.n,
        args.seed,
    )
    return benchmarking.run(args, benchmark)
