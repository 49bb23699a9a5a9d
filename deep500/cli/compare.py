"""compare two bundles entry by entry, or rank many by performance profiles"""

import argparse
from pathlib import Path

from ..errors import UNDECIDED, Deep500Error
from . import options
from .output import print_json, write_page

EQUIVALENCE_CODES = {"equivalent": 0, "different": 1, "inconclusive": UNDECIDED}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "a", metavar="A", help="the base: a folder, a zip or a run of `d5 list`"
    )
    parser.add_argument("b", metavar="B", help="what is compared with it")
    parser.add_argument(
        "more",
        metavar="C",
        nargs="*",
        help="with --profile: further bundles of recipes",
    )
    parser.add_argument(
        "--profile",
        action="store_true",
        help="rank systems (MUTABLE) over problems (FIXED): the share within τ of the best",
    )
    parser.add_argument(
        "--metric",
        metavar="NAME",
        help="the cost to rank by with --profile (TimeToAccuracy)",
    )
    options.out(parser, "the page with the picture of --profile (html)")
    options.margin(parser)
    options.level(parser)
    parser.add_argument(
        "--gate",
        action="store_true",
        help="exit code 1 if anything in B is slower",
    )
    options.equivalent(
        parser,
        None,
        "(for two recipes; exit code 0 equivalent, 1 different, 3 inconclusive)",
    )


def call(args: argparse.Namespace) -> int:
    from ..evidence.comparing import compare_bundles
    from ..evidence.recording import find_bundle
    from ..reports.terminal import blocks_text

    if args.gate and args.equivalent is not None:
        raise Deep500Error(
            "--gate and --equivalent have exit codes of their own: give one of them"
        )
    if args.profile:
        return _profile(args)
    if args.more or args.metric or args.out:
        raise Deep500Error(
            "two bundles are compared; --profile takes more, --metric and --out"
        )
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
    if args.equivalent is None:
        return 0
    return EQUIVALENCE_CODES[compared.equivalence]


def _profile(args: argparse.Namespace) -> int:
    from ..evidence.loading import rendered
    from ..evidence.profiling import profile_bundles
    from ..evidence.recording import find_bundle
    from ..reports.html import html
    from ..reports.terminal import terminal

    paths = [find_bundle(name) for name in (args.a, args.b, *args.more)]
    profiles = profile_bundles(paths, args.metric, args.level)
    if args.out:
        write_page(Path(args.out), rendered(html, profiles.report()))
    if args.json:
        page = str(args.out) if args.out else None
        print_json(profiles.to_json() | {"page": page})
    else:
        print(rendered(terminal, profiles.report()))
    return 0 if profiles.verified else 1
