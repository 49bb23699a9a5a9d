"""compare two bundles entry by entry, and say what differs between their environments"""

import argparse

from . import options
from .output import print_json


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", help="the base: a folder, a zip or a run of `d5 list`")
    parser.add_argument("b", metavar="B", help="what is compared with it")
    options.margin(parser)
    options.level(parser)
    parser.add_argument(
        "--gate", action="store_true", help="exit code 1 if anything in B is slower"
    )


def call(args: argparse.Namespace) -> int:
    from ..evidence.comparing import compare_bundles
    from ..evidence.recording import find_bundle
    from ..reports.terminal import blocks_text

    compared = compare_bundles(
        find_bundle(args.a), find_bundle(args.b), margin=args.margin, level=args.level
    )
    if args.json:
        print_json(compared.to_json())
    else:
        print(blocks_text(compared.blocks()))
    gated = args.gate and compared.worse
    return 0 if compared.verified and not gated else 1
