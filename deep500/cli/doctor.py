"""look at this machine: environment, noise, what is installed, what to fix"""

import argparse

from .output import print_json


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--budget", type=float, default=2.0, metavar="SECONDS", help="for measuring the noise (2)"
    )


def call(args: argparse.Namespace) -> int:
    from ..evidence.diagnosis import diagnose
    from ..reports.diagnoses import diagnosis_text

    found = diagnose(args.budget)
    if args.json:
        print_json(found.to_json())
    else:
        print(diagnosis_text(found))
    return 0
