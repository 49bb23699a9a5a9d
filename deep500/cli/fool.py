"""turn an honest bundle into a fooled one, by one of the twelve ways: to test an audit"""

import argparse

from ..errors import Deep500Error, visible
from . import options
from .output import print_json


def arguments(parser: argparse.ArgumentParser) -> None:
    options.bundle(parser, required=True)
    parser.add_argument(
        "--way",
        type=int,
        default=None,
        metavar="N",
        help="the way to fool the masses, 1 to 12",
    )
    options.out(parser, "the result, a new folder with “fooled” in its name")


def call(args: argparse.Namespace) -> int:
    from ..bundle.records.recording import find_bundle
    from ..fooling.fool import fool, ways_text

    if args.way is None or args.out is None:
        raise Deep500Error(
            f"give --way N and --out FOLDER: {' '.join(ways_text().split())}"
        )
    written = fool(find_bundle(args.bundle), args.way, args.out)
    if args.json:
        print_json({"way": args.way, "written": [str(path) for path in written]})
        return 0
    for path in written:
        print(visible(str(path)))
    print(f"`d5 audit {visible(str(args.out))} --rules F{args.way}` must find it")
    return 0
