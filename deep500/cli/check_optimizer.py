"""check that an optimizer is right: every step against a float64 oracle, resumption, and the framework's own rule"""

import argparse
from typing import Any

from ..errors import Deep500Error
from ..progress import ProgressLine
from . import options
from .output import show_record


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "optimizer",
        metavar="OPTIMIZER",
        help="a built-in one (Adam, 'Adam(0.01)'), or one in a file: my_optimizer.py:MyAdam",
    )
    options.framework(parser, "pytorch", ["pytorch"])
    add(
        "--reference",
        default=None,
        metavar="NAME",
        help="what computes the same: a built-in rule, as Adam or 'Adam(0.01)' (its own, if it is one)",
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
    from ..evidence.recording import recording
    from ..results.check import check_block
    from ..validation.optimizers.checking import check_optimizer_elsewhere

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
    from ..frameworks import framework
    from ..validation.optimizers.subjects import load_optimizer

    for adapter in map(framework, args.framework):
        if not adapter.available():
            _ = adapter.module  # raises an error that says what to install
    if not args.timeout > 0:
        raise Deep500Error(
            f"--timeout {args.timeout:g} leaves no time: give more than 0 seconds"
        )
    if args.steps < 2:
        raise Deep500Error(f"--steps {args.steps} are too few: give at least 2")
    if args.reference:
        load_optimizer(args.reference)
    # code from a file runs only in a process of its own
    if ".py:" not in args.optimizer:
        load_optimizer(args.optimizer, options.settings(args.set))
