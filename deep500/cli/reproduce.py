"""run the recipe of a bundle again: are the bits the same, do the claims hold again, is it documented?"""

import argparse
from pathlib import Path

from . import options
from .output import show_record

# Kinds of definitions that an option of a run may have named: what they are, and an example.
DEFINITIONS = {
    "optimizer": ("the rule of the step", "NAME", "'my.py:Mine(0.01)'"),
    "scheme": ("how ranks train together", "NAME", "my.py:Mine"),
    "codec": ("how gradients are coded", "CODEC", "'my.py:Mine(8)'"),
}


def arguments(parser: argparse.ArgumentParser) -> None:
    options.bundle(parser, required=True)
    add = parser.add_argument
    add(
        "--recipe",
        type=Path,
        default=None,
        metavar="FILE",
        help="the recipe's file, if it is not one of ours; code from a bundle is never run",
    )
    for kind, (meaning, form, example) in DEFINITIONS.items():
        add(
            f"--{kind}",
            default=None,
            metavar=form,
            help=f"{meaning}, if an option of the run named one in a file: {example}",
        )
    options.equivalent(parser, 1.5, "(1.5)")
    add(
        "--allow-changes",
        action="store_true",
        help="go ahead although the recipe or a source is not the recorded one; the result says what differs",
    )
    options.data(parser)
    options.out(parser)


def call(args: argparse.Namespace) -> int:
    from ..bundle.records.recording import find_bundle
    from ..rerun.reproduction import reproduce
    from ..training.events import ProgressBar

    definitions = {}
    for kind in DEFINITIONS:
        if (text := getattr(args, kind)) is not None:
            definitions[kind] = text
    record = reproduce(
        find_bundle(args.bundle),
        args.recipe,
        args.out,
        margin=args.equivalent,
        data=args.data,
        allow_changes=args.allow_changes,
        events=[ProgressBar()],
        definitions=definitions,
    )
    return show_record(args, record, page=True)
