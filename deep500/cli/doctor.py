"""look at this machine: environment, noise, what is installed, what to fix"""

import argparse

from .output import show_record


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--budget", type=float, default=2.0, metavar="SECONDS", help="for measuring the noise (2)"
    )


def call(args: argparse.Namespace) -> int:
    from ..evidence.recording import recorded_diagnosis

    return show_record(args, recorded_diagnosis(args.budget, getattr(args, "out", None)))
