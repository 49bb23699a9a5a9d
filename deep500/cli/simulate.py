"""what a GOAL file, a collective or a recipe takes on a virtual cluster of up to millions of ranks"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Deep500Error
from ..progress import ProgressLine
from . import options
from .cluster_options import cluster_arguments, given_cluster, seeds_of
from .output import show_record
from .run import noting_how_to_resume

if TYPE_CHECKING:
    from ..bench.simulated.subjects import SimulatedSubject
    from ..cluster.network import ClusterNetwork

GOAL_ENDINGS = {".goal", ".bin"}
# the options that only one kind of subject has, and what they are if they are not given
OPTIONS: dict[str, dict[str, Any]] = {
    "a GOAL file": {},
    "a collective": {
        "ranks": 8,
        "size": "4",
        "operation": "all_reduce",
        "dtype": "float32",
    },
    "a recipe": {
        "ranks": 8,
        "scheme": "AllReduce",
        "steps": 100,
        "compute": 0.0,
        "update": 0.0,
        "framework": None,
        "set": [],
    },
}


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "subject",
        metavar="SUBJECT",
        help="a GOAL file, text or binary; a collective, as 'Ring()' or my.py:Mine; a recipe, as digits_mlp or mine.py",
    )
    add(
        "--ranks",
        type=int,
        default=None,
        metavar="P",
        help="how many ranks (8; a GOAL file has its own)",
    )
    add(
        "--size",
        default=None,
        metavar="SIZE",
        help="bytes of a rank's array, of a collective: 8, 64KiB, 1MiB (4)",
    )
    add(
        "--operation",
        default=None,
        metavar="NAME",
        help="all_reduce, all_gather, broadcast …: the operation of a collective (all_reduce)",
    )
    add(
        "--dtype",
        default=None,
        metavar="DTYPE",
        help="the dtypes of floats: that of a collective's array (float32)",
    )
    _training_arguments(parser)
    cluster_arguments(parser)
    add(
        "--goal",
        type=Path,
        default=None,
        metavar="PATH",
        help="the schedule as well, for other simulators: a GOAL file, binary if its name ends with .bin",
    )
    add(
        "--resume",
        action="store_true",
        help="go on with the seeds that --out FOLDER lacks",
    )
    options.out(parser)
    options.report(parser)


def _training_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--scheme",
        default=None,
        metavar="NAME",
        help="how ranks train together, of a recipe (AllReduce)",
    )
    add(
        "--steps",
        type=int,
        default=None,
        metavar="N",
        help="the steps of a recipe, in whole epochs (100)",
    )
    add(
        "--compute",
        type=float,
        default=None,
        metavar="SECONDS",
        help="backprop of one example, of a recipe (0)",
    )
    add(
        "--update",
        type=float,
        default=None,
        metavar="SECONDS",
        help="one update by the optimizer, of a recipe (0)",
    )
    options.framework(parser, "the recipe's", several=False)
    options.set_(parser, "an entry of the recipe, such as batch_size=512")


def call(args: argparse.Namespace) -> int:
    from ..bench.simulated.runner import run_simulation
    from ..bundle.records.recording import new_folder
    from ..cluster.goal import write_goal

    if args.resume and not args.out:
        raise Deep500Error(
            "--resume needs --out FOLDER: where the simulation was interrupted"
        )
    cluster = given_cluster(args)
    seeds = seeds_of(args, cluster)
    folder = args.out or new_folder("simulation")
    with noting_how_to_resume(args, folder):
        with ProgressLine() as progress:
            subject = _subject(args, cluster.network, progress)
        if args.goal:
            write_goal(subject.schedule, args.goal, args.goal.suffix == ".bin")
            print(f"d5: the schedule is in {args.goal}", file=sys.stderr)
        with ProgressLine() as progress:
            record = run_simulation(
                subject, cluster, seeds, folder, args.resume, progress
            )
    return show_record(args, record, page=args.report)


def _subject(
    args: argparse.Namespace, network: "ClusterNetwork", progress: ProgressLine
) -> "SimulatedSubject":
    from .. import registry
    from ..bench.simulated import subjects

    text, path = args.subject, Path(args.subject)
    is_recipe = path.suffix == ".py" or _is_recipe(text)
    is_collective = "(" in text or ".py:" in text or registry.has("collectives", text)
    if is_collective:
        _fill_in(args, "a collective")
        [nbytes] = _sizes(args.size)
        choice = subjects.CollectiveChoice(
            text, args.ranks, nbytes, args.operation, args.dtype
        )
        return subjects.collective_subject(choice, network, progress)
    if is_recipe:
        _fill_in(args, "a recipe")
        return _trained(args, network, progress)
    if path.suffix in GOAL_ENDINGS or path.is_file():
        _fill_in(args, "a GOAL file")
        return subjects.goal_subject(path, progress)
    raise Deep500Error(
        f"{text!r} is no GOAL file, no collective and no recipe: `d5 list collectives` and `d5 list recipes` name them"
    )


def _fill_in(args: argparse.Namespace, kind: str) -> None:
    """The defaults of a kind of subject; options of another kind are refused, since they would change nothing."""
    known = OPTIONS[kind]
    for name in dict.fromkeys(name for each in OPTIONS.values() for name in each):
        value = getattr(args, name)
        if name not in known and value not in (None, []):
            owners = [other for other, names in OPTIONS.items() if name in names]
            raise Deep500Error(
                f"--{name} is for {' and '.join(owners)}, and {args.subject} is {kind}: leave it out"
            )
        if name in known and value is None:
            setattr(args, name, known[name])


def _trained(
    args: argparse.Namespace, network: "ClusterNetwork", progress: ProgressLine
) -> "SimulatedSubject":
    from ..bench.simulated import subjects
    from ..frameworks import framework
    from ..rerun.recipe_files import load_recipe

    recipe = load_recipe(Path(args.subject))
    settings: dict[str, Any] = options.settings(args.set)
    if args.framework:
        settings["executor"] = framework(args.framework).from_model
    if settings:
        recipe = recipe.with_settings(settings)
    choice = subjects.TrainingChoice(
        args.ranks, args.scheme, args.steps, args.compute, args.update
    )
    return subjects.recipe_subject(recipe, choice, network, progress)


def _is_recipe(text: str) -> bool:
    from ..rerun.recipe_files import known_recipes

    return text in known_recipes()


def _sizes(text: str) -> list[int]:
    from ..bench.collectives.sizes import sizes_in_bytes

    return sizes_in_bytes([text])
