"""how exact exp, log, tanh, erf … are on each framework: errors in units in the last place, against mpmath"""

import argparse
from dataclasses import asdict

from . import options
from .output import print_json

DTYPES = ("float32", "float64")


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("functions", nargs="*", metavar="FUNCTION", help="exp, log, erf … (all of them)")
    options.framework(parser, "all that are installed")
    options.dtype(parser, ["float32"], DTYPES)
    add("--n", type=int, default=1000, metavar="N", help="how many arguments are drawn (1000)")
    options.seed(parser, "the arguments", 0)
    options.timeout(parser, "one framework", 600.0)


def call(args: argparse.Namespace) -> int:
    from ..frameworks import available_frameworks
    from ..reports.exactness import exactness_text
    from ..validation.benching.elementary import FUNCTIONS, elementary

    frameworks = args.framework or [name for name in available_frameworks() if name != "fake"]
    found = elementary(
        args.functions or list(FUNCTIONS), frameworks, args.dtype, args.n, args.seed, args.timeout
    )
    if args.json:
        print_json(
            {
                "unit": "ULP",
                "largest": "of the sample: a lower bound",
                "seed": args.seed,
                "rows": [asdict(row) for row in found],
            }
        )
    else:
        print(exactness_text(found, args.seed))
    return 0
