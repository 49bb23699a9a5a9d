"""check how ranks train together: does it train, agree, count every rank, resume, and name lost ranks"""

import argparse
from typing import Any

from ..errors import Deep500Error
from ..progress import ProgressLine
from . import options
from .output import show_record

MOST_RANKS = 64


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "scheme",
        metavar="SCHEME",
        help="a built-in one, 'LocalSGD(period=8)' or 'DPSGD(topology=Torus())'; or a scheme or "
        "distributed optimizer in a file, 'my.py:Mine(period=8)'",
    )
    parser.add_argument(
        "--ranks",
        type=int,
        default=4,
        metavar="P",
        help="how many ranks, all of them virtual (4)",
    )
    options.framework(parser, "reference", ["reference"])
    options.random_seed(parser, "data and networks", 0)
    parser.add_argument(
        "--verbose",
        action="store_true",
        help="show every check, not only what is wrong",
    )
    options.timeout(parser, "all checks on one framework", 300.0)
    options.out(parser)


def call(args: argparse.Namespace) -> int:
    from ..check.schemes.loading import check_scheme_elsewhere, load_scheme
    from ..evidence.recording import recording
    from ..results.check import check_block

    if not 2 <= args.ranks <= MOST_RANKS:
        raise Deep500Error(f"--ranks {args.ranks}: give 2 to {MOST_RANKS}")
    load_scheme(args.scheme).check(args.ranks)
    frameworks = args.framework
    options.need_frameworks(frameworks)
    with (
        recording("check", _plan(args, frameworks), args.out) as record,
        ProgressLine() as line,
    ):
        for number, name in enumerate(frameworks):
            line(number / len(frameworks), f"ranks on {name}")
            report = check_scheme_elsewhere(
                args.scheme, args.ranks, name, args.seed, args.timeout
            )
            record.append(check_block(report))
        finished = record.finish()
    return show_record(args, finished)


def _plan(args: argparse.Namespace, frameworks: list[str]) -> dict[str, Any]:
    """The request as it is written into the bundle."""
    return {
        "operator": args.scheme,
        "attributes": {"ranks": args.ranks},
        "frameworks": frameworks,
        "dtypes": ["float32"],
        "seed": args.seed,
    }
