"""check that something is right: `d5 check operator`, `d5 check network` … have their own options"""

import argparse

from ..errors import Deep500Error

SUBJECTS = ("operator", "network", "optimizer", "sampler", "codec", "scheme")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=SUBJECTS, help="what is checked")


def call(args: argparse.Namespace) -> int:
    raise Deep500Error(f"say what is checked first: `d5 check {args.what} …`")
