"""open a contest: a folder with the organiser's recipe, the divisions, the limits and what is scored"""

import argparse
import hashlib
import typing
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Deep500Error, unknown, visible
from .output import print_json

if TYPE_CHECKING:
    from ..contest.definition import Contest

# the options of numbers by what they are in contest.json
NUMBERS = {
    "seeds": "--seeds",
    "threads": "--threads",
    "seconds": "--seed-seconds",
    "load_seconds": "--load-seconds",
    "memory_mib": "--memory",
    "processes": "--processes",
    "disk_mib": "--disk",
    "submission_kib": "--submission",
    "calls": "--calls",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("contest", type=Path, metavar="DIR", help="the contest's new folder")
    add(
        "--problem",
        type=Path,
        default=None,
        metavar="FILE",
        help="a contest of kernels: the organiser's inputs(rng) and reference(*inputs)",
    )
    add(
        "--calls",
        type=int,
        default=20,
        metavar="N",
        help="how many calls are timed together, each on inputs of its own (20)",
    )
    add(
        "--recipe",
        default=None,
        metavar="FILE",
        help="the recipe's file, or a recipe of ours: FIXED, METRICS and targets",
    )
    add(
        "--open",
        action="store_true",
        help="an open division too, in which FIXED may be changed by plain values",
    )
    add(
        "--seeds",
        type=int,
        default=6,
        metavar="N",
        help="how many seeds are drawn, after submission and for each anew (6)",
    )
    add(
        "--tier",
        default="small",
        metavar="TIER",
        help="how much of it is run: tiny, small or full (small)",
    )
    add(
        "--threads",
        type=int,
        default=1,
        metavar="N",
        help="the threads that frameworks are told to use (1)",
    )
    add(
        "--seed-seconds",
        type=float,
        default=120.0,
        metavar="S",
        help="the time limit of one seed, everything included (120)",
    )
    add(
        "--load-seconds",
        type=float,
        default=60.0,
        metavar="S",
        help="the time limit of loading frameworks and the submission, untimed (60)",
    )
    add(
        "--memory",
        type=int,
        default=4096,
        metavar="MIB",
        help="the memory of all processes of a submission together (4096)",
    )
    add(
        "--processes",
        type=int,
        default=64,
        metavar="N",
        help="the number of processes that a submission may have, with threads (64)",
    )
    add(
        "--disk",
        type=int,
        default=256,
        metavar="MIB",
        help="the disk space of a submission, which is in memory (256)",
    )
    add(
        "--submission",
        type=int,
        default=64,
        metavar="KIB",
        help="the largest submission: small enough that it holds no trained weights (64)",
    )
    add(
        "--scored",
        default=None,
        metavar="METRIC",
        help="what ranks on the contest's board (the first time, else cost or rate)",
    )


def call(args: argparse.Namespace) -> int:
    from ..contest.definition import FORMAT, Contest, create
    from ..contest.kernel_referee import problem_file
    from ..rerun.recipe_files import recipe_file
    from ..schema import encoded
    from ..training.planning import TIERS

    if (args.recipe is None) == (args.problem is None):
        raise Deep500Error("a contest has a --recipe or a --problem: give one of them")
    if args.problem is not None:
        for option, value in (("--open", args.open), ("--scored", args.scored)):
            if value:
                raise Deep500Error(f"{option} is for a --recipe: leave it out")
        file = problem_file(args.problem)
    else:
        file = recipe_file(args.recipe)
    if args.tier not in TIERS:
        raise unknown("tier", args.tier, TIERS)
    settings = Contest(
        format=FORMAT,
        name=args.contest.name,
        recipe=hashlib.sha256(file.read_bytes()).hexdigest(),
        divisions=("closed", "open") if args.open else ("closed",),
        seeds=args.seeds,
        tier=args.tier,
        threads=args.threads,
        seconds=args.seed_seconds,
        load_seconds=args.load_seconds,
        memory_mib=args.memory,
        processes=args.processes,
        disk_mib=args.disk,
        submission_kib=args.submission,
        scored=args.scored,
        kind="kernel" if args.problem is not None else "recipe",
        calls=args.calls,
    )
    _check_numbers(settings)
    folder = create(args.contest, file, settings)
    if args.json:
        print_json(encoded(settings) | {"contest": str(folder.path)})
    else:
        path = visible(str(folder.path))
        print(f"contest: {path}; take part with `d5 contest submit {path} my.py`")
    return 0


def _check_numbers(contest: "Contest") -> None:
    """Raise a Deep500Error for an option with a number that contest.json may not hold."""
    from ..schema import decoded

    kinds = typing.get_type_hints(type(contest), include_extras=True)
    for name, option in NUMBERS.items():
        decoded(kinds[name], getattr(contest, name), option)
