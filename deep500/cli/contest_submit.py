"""hand in a submission: a Python file with MUTABLE, which is read and sealed, and not run"""

import argparse
from pathlib import Path

from ..errors import visible
from .output import print_json


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("contest", type=Path, metavar="DIR", help="the contest's folder")
    add(
        "file",
        type=Path,
        metavar="FILE",
        help="the submission; modules beside it that it imports are packed too",
    )
    add(
        "--entry",
        default=None,
        metavar="ENTRY",
        help="the entry's name (that of the file)",
    )
    add(
        "--division",
        choices=("closed", "open"),
        default="closed",
        help="which entries may be changed: MUTABLE ones only, or FIXED ones too (closed)",
    )


def call(args: argparse.Namespace) -> int:
    from ..contest.definition import open_folder
    from ..contest.submissions import submit
    from ..schema import encoded

    folder = open_folder(args.contest)
    name = args.entry or args.file.stem
    line = submit(folder, args.file, name, args.division)
    if args.json:
        print_json(encoded(line))
    else:
        print(
            f"sealed: {visible(line.entry)}, {line.division} division, SHA-256 {line.submission}"
        )
    return 0
