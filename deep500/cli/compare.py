"""compare two bundles entry by entry, and say what differs between their environments"""

import argparse

from .output import print_json


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", help="the base: folder, zip or run id")
    parser.add_argument("b", help="what is compared with it")
    parser.add_argument(
        "--margin", type=float, default=0.02, help="differences up to this do not matter (0.02)"
    )
    parser.add_argument("--level", type=float, default=0.95, help="level of confidence (0.95)")
    parser.add_argument(
        "--gate", action="store_true", help="exit with 1 if anything in B is slower"
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
    return 1 if args.gate and compared.worse else 0
