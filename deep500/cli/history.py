"""show the results of a name over time: change points with intervals, split where the method changed"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import visible
from . import options
from .output import print_json, write_page

if TYPE_CHECKING:
    from ..board.past import NamedHistory


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("name", metavar="NAME", help="a recipe's name, or an entry of a measurement")
    add(
        "--folder",
        type=Path,
        default=None,
        metavar="DIR",
        help="a folder of bundles (the ledger of this machine)",
    )
    add(
        "--metric",
        default=None,
        metavar="NAME",
        help="the metric to follow, such as Throughput (the first time, else cost or rate)",
    )
    options.level(parser)
    options.out(parser, "a page with pictures (html)")
    add(
        "--gate",
        action="store_true",
        help="exit code 1 if the last change of the newest series is for the worse",
    )


def call(args: argparse.Namespace) -> int:
    from ..board.past import history
    from ..schema import encoded

    found = history(args.name, args.folder, args.metric, args.level)
    if args.out:
        _write(found, args.out)
    if args.json:
        print_json(encoded(found))
    else:
        _print(found)
        if args.out:
            print(f"page: {visible(str(args.out))}")
    return 1 if args.gate and _is_worse(found) else 0


def _is_worse(found: "NamedHistory") -> bool:
    newest = max(found.series, key=lambda series: series.points[-1].date)
    return bool(newest.shifts) and newest.shifts[-1].verdict == "worse"


def _write(found: "NamedHistory", out: Path) -> None:
    from ..board.page import history_page
    from ..board.pictures import series_pictures

    pictures = series_pictures(found.series)
    write_page(out, history_page(found.name, found.series, pictures))


def _print(found: "NamedHistory") -> None:
    from ..board.page import points_table, split_sentence
    from ..reports.blocks import Block, Bullets, Sentence
    from ..reports.terminal import blocks_text

    blocks: list[Block] = []
    for series in found.series:
        blocks.append(Sentence(f"{series.system}, {series.machine}"))
        blocks.append(Sentence(f"{series.score}: {series.answer}"))
        if series.differs:
            blocks.append(Sentence(split_sentence(series)))
        blocks.append(points_table(series))
    blocks.append(Bullets([f"not used: {r.entry}: {r.reason}" for r in found.refused]))
    print(blocks_text(blocks))
