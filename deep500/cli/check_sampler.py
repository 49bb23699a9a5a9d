"""check that a sampler draws what it says: coverage, batches, weights, positions, independence of epochs and seeds"""

import argparse
from typing import Any

from ..progress import ProgressLine
from . import options
from .output import show_record


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "sampler",
        metavar="SAMPLER",
        help="a built-in one (ShuffleSampler), or one in a file: 'my.py:Mine(64)'",
    )
    options.set_(
        parser,
        "of the sampler, such as batch_size=64 or weights=[1,2,3] (batch_size=4)",
    )
    add(
        "--examples",
        type=int,
        default=0,
        metavar="N",
        help="how many examples there are (as its settings say, or 13)",
    )
    add(
        "--epochs",
        type=int,
        default=2000,
        metavar="N",
        help="how many epochs are drawn (2000)",
    )
    options.random_seed(parser, "the sampler", 0)
    add(
        "--verbose",
        action="store_true",
        help="show every check, not only what is wrong",
    )
    options.timeout(parser, "all checks", 300.0)
    options.out(parser)
    options.report(parser)


def call(args: argparse.Namespace) -> int:
    from ..check.samplers import LEVEL, check_named_sampler, named_sampler
    from ..definition_text import parts_of
    from ..evidence.recording import recording
    from ..supervision.isolation import isolated

    settings = options.settings(args.set)
    if "seed" not in parts_of(args.sampler, "samplers").given:
        settings.setdefault("seed", args.seed)
    # reports wrong settings before anything is started
    named_sampler(args.sampler, settings)
    plan: dict[str, Any] = {
        "sampler": args.sampler,
        "settings": settings,
        "size": args.examples,
        "epochs": args.epochs,
        "level": LEVEL,
    }
    function = (
        f"{check_named_sampler.__module__}:{check_named_sampler.__name__}"
    )
    arguments = dict(plan)
    arguments["name"] = arguments.pop("sampler")
    with (
        recording("sampler_check", plan, args.out) as record,
        ProgressLine() as line,
    ):
        line(0.0, f"{args.epochs} epochs")
        record.append(isolated(function, arguments, args.timeout))
        finished = record.finish()
    return show_record(args, finished, args.report)
