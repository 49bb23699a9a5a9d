"""look at this machine: environment, noise, what is installed, what to fix"""

import argparse

from . import options
from .output import show_record


def arguments(parser: argparse.ArgumentParser) -> None:
    options.budget(parser, 2.0)
    options.out(parser)


def call(args: argparse.Namespace) -> int:
    from ..evidence.recording import recorded_diagnosis

    return show_record(args, recorded_diagnosis(args.budget, args.out))
