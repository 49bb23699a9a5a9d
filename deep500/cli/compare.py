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
    from ..evidence.contrasting import contrast
    from ..evidence.recording import find_bundle
    from ..reports.contrasts import contrast_text

    found = contrast(find_bundle(args.a), find_bundle(args.b), margin=args.margin, level=args.level)
    if args.json:
        print_json(found.to_json())
    else:
        print(contrast_text(found))
    return 1 if args.gate and found.slower else 0
