"""The options of `d5 run` about ranks, and what this process is for: to start ranks, to lead them, or to follow."""

import argparse
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Deep500Error

if TYPE_CHECKING:
    from ..contracts.recipe import Recipe
    from ..distributed.distribution import Distribution

TRANSPORTS = ("virtual", "mpi", "torch")


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--ranks",
        type=int,
        default=None,
        metavar="P",
        help="how many ranks (the recipe's)",
    )
    add(
        "--transport",
        default=None,
        choices=TRANSPORTS,
        help="what carries messages: virtual (all ranks in this process), mpi or torch (the launcher's)",
    )
    add(
        "--scheme",
        default=None,
        metavar="NAME",
        help="how ranks train together: AllReduce, 'LocalSGD(period=4)', 'DPSGD(topology=Torus())'",
    )
    add(
        "--codec",
        default=None,
        metavar="CODEC",
        help="how gradients are coded: 'TopK(0.01)', or a chain such as 'TopK(0.01) | QSGD(bits=4)'",
    )
    add(
        "--deadline",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="how long a rank waits for another before it is lost (60)",
    )


def rank_settings(args: argparse.Namespace) -> dict[str, Any]:
    """The entries of the recipe that the options set."""
    from ..distributed.communication import launched_by

    settings: dict[str, Any] = {}
    if args.ranks is not None:
        settings["ranks"] = args.ranks
    transport = args.transport or (
        launched_by() if args.ranks is not None else None
    )
    if transport is not None:
        settings["transport"] = transport
    if args.scheme:
        from ..contracts.definition_text import scheme_of

        settings["scheme"] = scheme_of(args.scheme)
    if args.codec:
        from ..validation.codecs.loading import load_codec

        settings["codec"] = load_codec(args.codec)
    if not 0 < args.deadline < 1e6:
        raise Deep500Error(
            f"--deadline {args.deadline:g}: give seconds, more than 0"
        )
    return settings


def exit_code_of_other_ranks(
    args: argparse.Namespace, recipe: "Recipe"
) -> int | None:
    """Start the ranks, or follow rank 0, and return the exit code; None if this process is to run the recipe."""
    from ..distributed.communication import launched_by, launched_rank
    from ..distributed.distribution import recipe_distribution

    distribution = recipe_distribution(recipe)
    if distribution is None or distribution.transport == "virtual":
        return None
    if launched_by() is None:
        return _launch(distribution, args.deadline)
    if launched_rank() == 0:
        return None
    _follow(args, recipe, distribution)
    return 0


def _follow(
    args: argparse.Namespace, recipe: "Recipe", distribution: "Distribution"
) -> None:
    from ..distributed.crew import follow
    from ..distributed.launching import ERRORS
    from ..training.planning import tier_recipe

    # what this rank says is shown if rank 0 cannot say anything
    if ERRORS in os.environ:
        name = f"rank-{os.environ.get('RANK', os.environ.get('PMI_RANK', ''))}"
        file = os.open(
            Path(os.environ[ERRORS]) / name, os.O_WRONLY | os.O_CREAT
        )
        os.dup2(file, 2)
    with ending_all_ranks():
        follow(
            tier_recipe(recipe, args.tier),
            distribution,
            args.data,
            args.deadline,
        )


def _launch(distribution: "Distribution", deadline: float) -> int:
    """Run this command again, as so many ranks."""
    from ..distributed.launching import launch, python_command

    command = python_command("-m", __package__, *sys.argv[1:])
    launched = launch(
        command, distribution.ranks, distribution.transport, grace=deadline + 20
    )
    if launched.first is not None and launched.first[1] < 0:
        rank, code = launched.first
        name = signal.Signals(-code).name
        raise Deep500Error(
            f"rank {rank} was ended by {name}: what was trained until then is kept, and --resume "
            "goes on with it"
        )
    if launched.code == 2 and launched.codes.get(0) != 2 and launched.errors:
        raise Deep500Error(
            launched.errors[0].splitlines()[-1].removeprefix("d5: ")
        )
    return launched.code


@contextmanager
def ending_all_ranks() -> Iterator[None]:
    """When this rank fails, the others are not left waiting for it."""
    from ..distributed.communication import break_transports

    try:
        yield
    except BaseException:
        break_transports()
        raise
