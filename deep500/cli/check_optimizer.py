"""check that an optimizer is right: every step against a float64 oracle, resumption, and the framework's own rule"""

import argparse
import re
from collections.abc import Mapping
from typing import Any

from ..errors import Deep500Error
from ..progress import ProgressLine
from . import options
from .output import show_record

# the frameworks on which the optimizers of a library run
LIBRARIES = {"torch": "pytorch", "optax": "jax", "keras": "tensorflow"}


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "optimizer",
        metavar="OPTIMIZER",
        help="'Adam(0.01) | ClipByNorm(1.0)', one in a file, 'my.py:Mine(0.01)', or 'torch.optim.Adam(lr=0.01)'",
    )
    options.framework(parser, "pytorch, or the library's own")
    add(
        "--reference",
        default=None,
        metavar="NAME",
        help="what computes the same: 'Adam(0.01)', my.py:Other, 'torch.optim.Adam(lr=0.01)', 'optax.adam(0.01)'",
    )
    options.set_(
        parser, "a setting of the optimizer, such as learning_rate=0.01"
    )
    options.dtype(parser, ["float64", "float32"], ("float32", "float64"))
    add(
        "--steps",
        type=int,
        default=100,
        metavar="N",
        help="the steps on every problem (100)",
    )
    options.random_seed(parser, "the problems", 0)
    add(
        "--verbose",
        action="store_true",
        help="show every check, not only what is wrong",
    )
    options.timeout(parser, "all checks of one framework", 600.0)
    options.out(parser)


def call(args: argparse.Namespace) -> int:
    from ..check.optimizers.checking import check_optimizer_elsewhere
    from ..evidence.recording import recording
    from ..results.check import check_block

    _check_arguments(args)
    plan = _plan(args)
    with (
        recording("optimizer_check", plan, args.out) as record,
        ProgressLine() as line,
    ):
        for i, name in enumerate(args.framework):
            line(i / len(args.framework), f"{args.optimizer} on {name}")
            report = check_optimizer_elsewhere(
                args.optimizer,
                plan["settings"],
                name,
                args.reference,
                args.seed,
                args.dtype,
                args.steps,
                args.timeout,
            )
            record.append(check_block(report))
        finished = record.finish()
    return show_record(args, finished)


def _plan(args: argparse.Namespace) -> dict[str, Any]:
    """The request as it is written into the bundle."""
    return {
        "optimizer": args.optimizer,
        "settings": options.settings(args.set),
        "reference": args.reference,
        "frameworks": args.framework,
        "dtypes": args.dtype,
        "steps": args.steps,
        "seed": args.seed,
    }


def _check_arguments(args: argparse.Namespace) -> None:
    if args.steps < 2:
        raise Deep500Error(f"--steps {args.steps} are too few: give at least 2")
    if args.reference is not None:
        _check_definition(args.reference, {})
    _check_definition(args.optimizer, options.settings(args.set))
    if args.framework is None:
        library = args.optimizer.strip().partition(".")[0]
        args.framework = [LIBRARIES.get(library, "pytorch")]
    options.need_frameworks(args.framework)


def _check_definition(text: str, settings: Mapping[str, Any]) -> None:
    """Report errors in a text at once, unless it names a file or a module, whose code runs only in a new process."""
    from ..check.optimizers.subjects import load_optimizer

    if not re.search(r"\.[A-Za-z_]", text):
        load_optimizer(text, settings)
