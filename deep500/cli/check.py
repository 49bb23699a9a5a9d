"""check that an operator, a network or an optimizer is right: each has its own options, as in `d5 check operator`"""

import argparse

from ..errors import Deep500Error

SUBJECTS = ("operator", "network", "optimizer")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=SUBJECTS, help="what is checked")


def call(args: argparse.Namespace) -> int:
    raise Deep500Error(f"say what is checked first: `d5 check {args.what} …`")
