"""compare two bundles entry by entry, or rank many by performance profiles"""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UNDECIDED, Deep500Error, visible
from . import options
from .output import show_comparison, write_page

if TYPE_CHECKING:
    from ..bundle.records.control import Control

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
        default=[],
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
        help="the metric to rank by with --profile: a cost (TimeToAccuracy)",
    )
    options.out(parser, "a page with A and B in one picture (html)")
    options.margin(
        parser,
        "the relative difference that does not matter, of a time, rate or count (0.02); of a quality a tenth "
        "of it: 0.2 points of a %%, else 0.2 %% of A",
    )
    options.level(parser)
    parser.add_argument(
        "--gate",
        action="store_true",
        help="exit code 1 if anything in B is slower or worse, if it lost seeds, or if one side lacks an entry",
    )
    parser.add_argument(
        "--again",
        metavar="A2",
        help="A once more, measured in the same job: with --gate, exit code 3 if A differs from it",
    )
    parser.add_argument(
        "--comment",
        type=Path,
        default=None,
        metavar="FILE",
        help="a comment in Markdown about what changed; the file is empty if nothing did",
    )
    options.equivalent(
        parser,
        None,
        "(for two recipes; exit code 0 equivalent, 1 different, 3 inconclusive)",
    )


def call(args: argparse.Namespace) -> int:
    from ..bundle.records.bundle_comparison import compare
    from ..bundle.records.change_comment import change_comment
    from ..bundle.records.recording import find_bundle

    if args.gate and args.equivalent is not None:
        raise Deep500Error(
            "--gate and --equivalent have exit codes of their own: give one of them"
        )
    if args.again and not args.gate:
        raise Deep500Error("--again is for --gate: give both")
    if args.profile and args.comment:
        raise Deep500Error("--comment is for the comparison of two bundles")
    if args.profile:
        return _profile(args)
    if args.more or args.metric:
        raise Deep500Error(
            "two bundles are compared; --profile takes more, and --metric"
        )
    compared = compare(
        find_bundle(args.a),
        find_bundle(args.b),
        margin=args.margin,
        level=args.level,
        equivalent=args.equivalent,
    )
    data = compared.to_json()
    checked = _control(args)
    if args.comment:
        write_page(args.comment, change_comment(compared, checked))
    if checked is not None:
        data["control"] = asdict(checked) | {"holds": checked.holds}
    show_comparison(args, compared.report(), data, args.out)
    if checked is not None and not args.json:
        print(visible(checked.sentence))
    if checked is not None and not checked.holds:
        return UNDECIDED
    if not compared.verified or (args.gate and (compared.worse or compared.lost)):
        return 1
    if args.equivalent is None:
        return 0
    return EQUIVALENCE_CODES[compared.equivalence]


def _control(args: argparse.Namespace) -> "Control | None":
    """A against its own repetition, if there is one."""
    from ..bundle.records.control import control
    from ..bundle.records.recording import find_bundle

    if not args.again:
        return None
    a, repetition = find_bundle(args.a), find_bundle(args.again)
    return control(a, repetition, args.margin, args.level)


def _profile(args: argparse.Namespace) -> int:
    from ..bundle.records.profiling import profile_bundles
    from ..bundle.records.recording import find_bundle

    paths = [find_bundle(name) for name in (args.a, args.b, *args.more)]
    profiles = profile_bundles(paths, args.metric, args.level)
    show_comparison(args, profiles.report(), profiles.to_json(), args.out)
    return 0 if profiles.verified else 1
