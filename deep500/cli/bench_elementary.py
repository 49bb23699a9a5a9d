"""how exact exp, log, tanh, erf … are on each framework: errors in units in the last place, against mpmath"""

import argparse

from . import benchmarking, options

KERNELS = ("own", "fixed", "fixed C++")
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
    add(
        "--kernel",
        nargs="+",
        choices=KERNELS,
        metavar="KERNEL",
        default=["own"],
        help="whose code runs: the framework's own, or one with equal bits everywhere, as a formula or in C++ (own)",
    )
    add(
        "--hashed",
        type=int,
        default=0,
        metavar="N",
        help="compare the bits of the results for N numbers of all kinds among the frameworks (0)",
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
        tuple(args.kernel),
        args.hashed,
    )
    return benchmarking.run(args, benchmark)
