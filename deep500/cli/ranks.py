"""The options of `d5 run` about ranks, and what this process is for: to start ranks, to lead them, or to follow."""

import argparse
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Deep500Error, errors_of_user_code

if TYPE_CHECKING:
    from ..contracts.recipe import Recipe
    from ..distributed.distribution import Distribution

TRANSPORTS = ("virtual", "mpi", "torch")
GRACE = 20.0  # seconds that ranks have to end after one has failed
REPORTING_SECONDS = 2.0  # that a rank has to report a failure for all


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
        metavar="TRANSPORT",
        help="what carries messages: virtual (all ranks in this process), mpi or torch (the launcher's)",
    )
    add(
        "--scheme",
        default=None,
        metavar="NAME",
        help="how ranks train together: AllReduce, 'LocalSGD(period=4)', 'DPSGD(topology=Torus())', my.py:Mine",
    )
    add(
        "--codec",
        default=None,
        metavar="CODEC",
        help="how gradients are coded: 'TopK(0.01)', 'TopK(0.01) | QSGD(bits=4)', 'my.py:Mine(8)'",
    )
    add(
        "--deadline",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="how long a rank waits for another before it is lost (60)",
    )


def rank_settings(args: argparse.Namespace, own: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of the recipe that the options set; `own` are the classes of its file."""
    from ..distributed.communication import launched_by

    settings: dict[str, Any] = {}
    if args.ranks is not None:
        settings["ranks"] = args.ranks
    transport = args.transport or (launched_by() if args.ranks is not None else None)
    if transport is not None:
        settings["transport"] = transport
    for key, text in (("scheme", args.scheme), ("codec", args.codec)):
        if text is not None:
            settings[key] = rank_definition(key, text, own)
    if not 0 < args.deadline < 1e6:
        raise Deep500Error(f"--deadline {args.deadline:g}: give seconds, more than 0")
    return settings


def check_ranks_are_given(recipe: "Recipe", settings: Mapping[str, Any]) -> None:
    """Raise a Deep500Error if the settings say how ranks train together, and nobody how many ranks there are."""
    for key in ("scheme", "codec"):
        if key in settings and not recipe.has("ranks"):
            raise Deep500Error(
                f"recipe {recipe.name}: a {key} is for several ranks, and the recipe has no 'ranks': give --ranks"
            )


def rank_definition(key: str, text: str, own: Mapping[str, Any]) -> Any:
    """The scheme or the codec that a text describes."""
    from ..check.codecs.loading import load_codec
    from ..check.schemes.loading import load_scheme
    from ..definition_text import Names

    if key == "scheme":
        return load_scheme(text, own)
    return load_codec(text, Names(own))


def exit_code_of_other_ranks(args: argparse.Namespace, recipe: "Recipe") -> int | None:
    """Start the ranks, or follow rank 0, and return the exit code; None if this process is to run the recipe."""
    from ..distributed.communication import (
        check_launcher,
        is_first_process,
        launched_by,
        launched_rank,
    )
    from ..distributed.distribution import recipe_distribution

    distribution = recipe_distribution(recipe)
    if distribution is None or distribution.transport == "virtual":
        return None
    if launched_by() is None:
        return _launch(distribution)
    try:
        check_launcher(distribution.transport)
    except Deep500Error:
        if is_first_process():
            raise
        return 2
    if launched_rank() == 0:
        return None
    _follow(args, recipe, distribution)
    return 0


def processes(recipe: "Recipe") -> int:
    """How many processes train: one per rank, and a single one for virtual ranks."""
    from ..distributed.distribution import recipe_distribution

    distribution = recipe_distribution(recipe)
    if distribution is None or distribution.transport == "virtual":
        return 1
    return distribution.ranks


def _follow(
    args: argparse.Namespace, recipe: "Recipe", distribution: "Distribution"
) -> None:
    from ..distributed.communication import launched_rank
    from ..distributed.failures import FOLDER
    from ..distributed.recipe_ranks import follow
    from ..training.planning import tier_recipe

    # what this rank says is shown if rank 0 cannot say anything
    if FOLDER in os.environ:
        name = f"rank-{launched_rank()}"
        file = os.open(Path(os.environ[FOLDER]) / name, os.O_WRONLY | os.O_CREAT)
        os.dup2(file, 2)
    with ending_all_ranks(), errors_of_user_code(f"recipe {recipe.name}"):
        follow(
            tier_recipe(recipe, args.tier),
            distribution,
            args.data,
            args.deadline,
        )


def _launch(distribution: "Distribution") -> int:
    """Run this command again, as so many ranks."""
    from ..distributed.failures import first_own
    from ..distributed.launching import launch, python_command

    command = python_command("-m", __package__, *sys.argv[1:])
    launched = launch(command, distribution.ranks, distribution.transport, grace=GRACE)
    failures = launched.failures
    if own := first_own(failures):
        raise Deep500Error(own.message)
    if launched.first is not None and launched.first[1] < 0:
        rank, code = launched.first
        name = signal.Signals(-code).name
        raise Deep500Error(
            f"rank {rank} was ended by {name}: what was trained until then is kept, and --resume "
            "goes on with it"
        )
    if failures:
        raise Deep500Error(failures[0].message)
    if launched.codes.get(0) != launched.code and launched.errors:
        print(launched.errors[0].splitlines()[-1], file=sys.stderr)
    return launched.code


@contextmanager
def ending_all_ranks() -> Iterator[None]:
    """When this rank fails, the others are not left waiting for it; one of them reports why, or their launcher."""
    from ..distributed.communication import break_transports, launched_rank
    from ..distributed.failures import leave_failure

    try:
        yield
    except BaseException as error:
        reports = break_transports(error)
        if not isinstance(error, Deep500Error):
            raise
        if leave_failure(launched_rank(), error):
            raise SystemExit(2) from None
        if not reports:
            # torchrun ends all ranks as soon as one has ended
            time.sleep(REPORTING_SECONDS)
            raise SystemExit(2) from None
        raise
