"""how exact exp, log, tanh, erf … are on each framework: errors in units in the last place, against mpmath"""

import argparse
from dataclasses import asdict

from .output import print_json


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("functions", nargs="*", metavar="FUNCTION", help="exp, log, erf … (all of them)")
    add(
        "--framework",
        nargs="+",
        default=None,
        help="as `d5 list frameworks` names them (all that are installed)",
    )
    add("--dtype", nargs="+", default=["float32"], help="float32, float64 (float32)")
    add("--n", type=int, default=1000, help="arguments drawn for each function (1000)")
    add("--seed", type=int, default=0, help="of the arguments (0)")
    add("--timeout", type=float, default=600.0, metavar="SECONDS", help="for one framework (600)")


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
