"""look at this machine: environment, noise, what is installed, what to fix"""

import argparse

from . import options
from .output import print_json


def arguments(parser: argparse.ArgumentParser) -> None:
    options.budget(parser, 2.0)


def call(args: argparse.Namespace) -> int:
    from ..evidence.diagnosis import diagnose
    from ..reports.diagnoses import diagnosis_text

    found = diagnose(args.budget)
    if args.json:
        print_json(found.to_json())
    else:
        print(diagnosis_text(found))
    return 0
