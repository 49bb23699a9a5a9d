"""compare two bundles entry by entry, and say what differs between their environments"""

import argparse

from ..errors import UNDECIDED, Deep500Error
from . import options
from .output import print_json

EQUIVALENCE_CODES = {"equivalent": 0, "different": 1, "inconclusive": UNDECIDED}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", help="the base: a folder, a zip or a run of `d5 list`")
    parser.add_argument("b", metavar="B", help="what is compared with it")
    options.margin(parser)
    options.level(parser)
    parser.add_argument(
        "--gate", action="store_true", help="exit code 1 if anything in B is slower"
    )
    parser.add_argument(
        "--equivalent",
        type=float,
        default=None,
        metavar="MARGIN",
        help="test whether two recipes' runs are of the same quality up to MARGIN (1.5: of % accuracy): exit "
        "code 0 equivalent, 1 different, 3 inconclusive",
    )


def call(args: argparse.Namespace) -> int:
    from ..evidence.comparing import compare_bundles
    from ..evidence.recording import find_bundle
    from ..reports.terminal import blocks_text

    if args.gate and args.equivalent is not None:
        raise Deep500Error("--gate and --equivalent have exit codes of their own: give one of them")
    compared = compare_bundles(
        find_bundle(args.a),
        find_bundle(args.b),
        margin=args.margin,
        level=args.level,
        equivalent=args.equivalent,
    )
    if args.json:
        print_json(compared.to_json())
    else:
        print(blocks_text(compared.blocks()))
    if not compared.verified or (args.gate and compared.worse):
        return 1
    return EQUIVALENCE_CODES[compared.equivalence] if args.equivalent is not None else 0
