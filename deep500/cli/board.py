"""write a static leaderboard of a folder of bundles: places with ties, pictures, filters, CSV and JSON, a log"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Deep500Error, visible
from . import options
from .output import print_json

if TYPE_CHECKING:
    from ..board.building import Built


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("folder", type=Path, metavar="DIR", help="the folder of bundles")
    add(
        "-o",
        "--out",
        type=Path,
        default=None,
        metavar="PATH",
        help="where to write the site: a new folder, or that of an earlier board (DIR-site)",
    )
    add("--title", default="", metavar="TEXT", help="the title of the page")
    add(
        "--metric",
        default=None,
        metavar="NAME",
        help="the metric to rank by, such as TimeToAccuracy (the first time, else cost or rate)",
    )
    options.margin(parser)
    options.level(parser)
    add(
        "--audit",
        action="store_true",
        help="also audit every bundle: NAME.audit.html beside it, and linked",
    )
    add(
        "--remove",
        default=None,
        metavar="ENTRY",
        help="take an entry off the board; the log keeps the line, and says why",
    )
    add("--reason", default="", metavar="TEXT", help="why, with --remove")


def call(args: argparse.Namespace) -> int:
    from ..board.building import BoardSettings, build, remove
    from ..board.site import write_site
    from ..contest.definition import CONTEST, RESULTS, judged_results

    if args.reason and args.remove is None:
        raise Deep500Error("--reason is for --remove: give both")
    if not args.folder.is_dir():
        raise Deep500Error(f"there is no folder {args.folder}: give one with bundles")
    if (args.folder / CONTEST).is_file():
        raise Deep500Error(
            f"{args.folder} is a contest: its results are in {args.folder / RESULTS}"
        )
    if args.remove is not None:
        remove(args.folder, args.remove, args.reason)
    if args.audit:
        from ..dossiers.audit_pages import write_audit_pages

        write_audit_pages(args.folder)
    judged = judged_results(args.folder)
    settings = BoardSettings(
        title=args.title,
        metric=args.metric or (judged.scored if judged else None),
        margin=args.margin,
        level=args.level,
        judged=judged.manifests if judged else None,
    )
    built = build(args.folder, settings)
    folder = args.folder.absolute()
    out = args.out or folder.with_name(f"{folder.name}-site")
    write_site(args.folder, built, out)
    _print(args, built, out)
    return 0


def _print(args: argparse.Namespace, built: "Built", out: Path) -> None:
    from ..schema import encoded

    board = built.board
    if args.json:
        print_json(encoded(board) | {"site": str(out)})
        return
    for league in board.leagues:
        title = f"{league.subject} · {league.division} · {league.machine}"
        print(visible(f"{title}: {league.answer}"))
    for series in board.series:
        print(visible(f"series of {series.subject}, {series.score}: {series.answer}"))
    for refused in built.refused:
        print(visible(f"refused: {refused.entry}: {refused.reason}"))
    if not board.leagues:
        print("no bundle of this folder can be ranked")
    print(f"board: {visible(str(out / 'index.html'))}")
