"""look at this machine: environment, noise, what is installed, what to fix"""

import argparse
from pathlib import Path

from .output import show_record


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--budget", type=float, default=2.0, metavar="SECONDS", help="for measuring the noise (2)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=None,
        metavar="FOLDER",
        help="the bundle's new folder (under $DEEP500_HOME)",
    )


def call(args: argparse.Namespace) -> int:
    from ..evidence.recording import recorded_diagnosis

    return show_record(args, recorded_diagnosis(args.budget, args.out))
