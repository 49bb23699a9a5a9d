"""check that something is right: operators, networks, codecs and schemes have options of their own"""

import argparse

from ..errors import Deep500Error

SUBJECTS = ("operator", "network", "codec", "scheme")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=SUBJECTS, help="what is checked")


def call(args: argparse.Namespace) -> int:
    raise Deep500Error(f"say what is checked first: `d5 check {args.what} …`")
