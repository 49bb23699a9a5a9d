"""how exact exp, log, tanh, erf … are on each framework: errors in units in the last place, against mpmath"""

import argparse
from pathlib import Path

from .output import show_record


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
    add(
        "--out",
        type=Path,
        default=None,
        metavar="FOLDER",
        help="the bundle's new folder (under $DEEP500_HOME)",
    )


def call(args: argparse.Namespace) -> int:
    from ..evidence.recording import recording
    from ..frameworks import available_frameworks
    from ..validation.benching.elementary import FUNCTIONS, check_request, measured_apart

    plan = {
        "functions": args.functions or list(FUNCTIONS),
        "frameworks": args.framework or [name for name in available_frameworks() if name != "fake"],
        "dtypes": args.dtype,
        "n": args.n,
        "seed": args.seed,
    }
    check_request(plan["functions"], plan["frameworks"], args.dtype, args.n)
    with recording("elementary", plan, args.out) as record:
        for name in plan["frameworks"]:
            rows = measured_apart(
                plan["functions"], name, args.dtype, args.n, args.seed, args.timeout
            )
            record.append({"framework": name, "rows": rows})
        finished = record.finish()
    return show_record(args, finished)
