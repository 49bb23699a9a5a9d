"""how exact exp, log, tanh, erf … are on each framework: errors in units in the last place, against mpmath"""

import argparse

from . import options
from .output import show_record

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
    options.timeout(parser, "one framework", 600.0)
    options.out(parser)


def call(args: argparse.Namespace) -> int:
    from ..bench.elementary import (
        FUNCTIONS,
        check_request,
        measured_apart,
    )
    from ..evidence.recording import recording
    from ..frameworks import available_frameworks

    plan = {
        "functions": args.functions or list(FUNCTIONS),
        "frameworks": args.framework or available_frameworks(),
        "dtypes": args.dtype,
        "n": args.n,
        "seed": args.seed,
    }
    check_request(plan["functions"], plan["frameworks"], args.dtype, args.n)
    with recording("elementary", plan, args.out) as record:
        for name in plan["frameworks"]:
            rows = measured_apart(
                plan["functions"],
                name,
                args.dtype,
                args.n,
                args.seed,
                args.timeout,
            )
            record.append({"framework": name, "rows": rows})
        finished = record.finish()
    return show_record(args, finished)
