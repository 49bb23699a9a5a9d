"""run a recipe: train every seed, keep everything in a bundle, and say whether the result is acceptable"""

import argparse
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Deep500Error, visible
from ..progress import ProgressLine
from . import options, ranks
from .output import beside, show_comparison, show_record
from .quiet import quiet_moment

if TYPE_CHECKING:
    from ..contracts.recipe import Recipe


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    options.recipe(parser)
    add(
        "other",
        type=Path,
        metavar="OTHER",
        nargs="?",
        help="a second recipe: both are trained in turn, seed by seed, and compared; the options are for both",
    )
    _changes(parser)
    _reproducible(parser)
    _amount(parser)
    add(
        "--device",
        default=None,
        metavar="DEVICE",
        help="the device: cpu, gpu, gpu:1, a framework's own word such as cuda:0, or sim, a simulated accelerator "
        "(the recipe's)",
    )
    add(
        "--threads",
        type=int,
        default=None,
        metavar="N",
        help="the threads of the framework (1, so that a seed gives the same bits again)",
    )
    options.data(parser)
    ranks.arguments(parser)
    options.wait_for_quiet(parser)
    options.out(parser)
    add(
        "--resume",
        action="store_true",
        help="go on with the run in --out, or begin it there",
    )


def _changes(parser: argparse.ArgumentParser) -> None:
    """What is to be another than the recipe says."""
    options.framework(parser, "the recipe's own", several=False)
    parser.add_argument(
        "--optimizer",
        default=None,
        metavar="NAME",
        help="the rule of the step, with settings: 'Adam(0.01)', 'AdamW(0.01) | ClipByNorm(1.0)', 'my.py:Mine(0.01)'",
    )
    options.set_(parser, "an entry of the recipe, such as batch_size=32")
    parser.add_argument(
        "--division",
        default="closed",
        choices=("closed", "open"),
        help="which entries may be changed: MUTABLE ones only, or FIXED ones too, which the result says (closed)",
    )


def _reproducible(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--reproducible",
        nargs="?",
        const=True,
        default=None,
        metavar="ROWS,BITS,KERNELS",
        help="the same weights, bit for bit, for any number of ranks: the batch is divided into leaves of so many rows "
        "(16), whose gradients are added in fixed point with so many bits behind the point (40); fixed takes kernels "
        "with the same bits on every processor, framework those of the framework (fixed, if there are any)",
    )


def _amount(parser: argparse.ArgumentParser) -> None:
    """How much is trained, and how often it is evaluated."""
    parser.add_argument(
        "--seeds",
        type=int,
        default=None,
        metavar="N",
        help="how many seeds (the tier's)",
    )
    options.tier(
        parser,
        "small",
        "tiny (2 seeds, a tenth of the epochs), small (6 seeds) or full (20 seeds)",
    )
    parser.add_argument(
        "--evaluate-every",
        type=int,
        default=None,
        metavar="STEPS",
        help="evaluate also within epochs, every so many steps; no step's time includes it (the recipe's)",
    )


def call(args: argparse.Namespace) -> int:
    from ..bundle.records.recording import new_folder
    from ..rerun.recipe_files import load_recipe
    from ..rerun.recipe_runner import run
    from ..training.events import ProgressBar

    if args.resume and not args.out:
        raise Deep500Error(
            "--resume needs --out FOLDER: where the run was interrupted, or is to begin"
        )
    recipe = changed_recipe(load_recipe(args.recipe), args)
    if args.other:
        return run_both(args, recipe)
    code = ranks.exit_code_of_other_ranks(args, recipe)
    if code is not None:
        return code
    with ProgressLine() as progress:
        quiet_moment(args, progress, busy_threads(args, recipe))
    folder = args.out or new_folder(recipe.name)
    with ranks.ending_all_ranks(), noting_how_to_resume(args, folder):
        outcome = run(
            recipe,
            folder,
            args.tier,
            args.seeds,
            args.resume,
            [ProgressBar()],
            threads=args.threads,
            data=args.data,
            deadline=args.deadline,
        )
    if not outcome.trained:
        print(
            f"d5: {args.out} was finished before: nothing was trained",
            file=sys.stderr,
        )
    return show_record(args, outcome.record, page=True)


def run_both(args: argparse.Namespace, recipe: "Recipe") -> int:
    """Train two recipes in turn into --out/a and --out/b, and print the comparison; 1 if one is not acceptable."""
    from ..bundle.records.bundle_comparison import compare
    from ..bundle.records.recording import new_folder
    from ..rerun.recipe_files import load_recipe
    from ..rerun.runs_in_turn import run_in_turn
    from ..training.events import ProgressBar

    other = changed_recipe(load_recipe(args.other), args)
    with ProgressLine() as progress:
        quiet_moment(args, progress, busy_threads(args, recipe))
    folder = args.out or new_folder(f"{recipe.name}-{other.name}")
    with noting_how_to_resume(args, folder):
        outcomes = run_in_turn(
            [recipe, other],
            folder,
            args.tier,
            args.seeds,
            args.resume,
            lambda: [ProgressBar()],
            threads=args.threads,
            data=args.data,
        )
    compared = compare(outcomes[0].bundle, outcomes[1].bundle)
    show_comparison(args, compared.report(), compared.to_json(), beside(folder))
    return 0 if all(outcomes) else 1


@contextmanager
def noting_how_to_resume(args: argparse.Namespace, folder: Path) -> Iterator[None]:
    """Add the command that goes on with the run in this folder to the exception of an interruption."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        command = ["d5", *args.argv]
        if not args.out:
            command += ["--out", str(folder)]
        if not args.resume:
            command += ["--resume"]
        interrupt.add_note(f"go on with `{visible(shlex.join(command))}`")
        raise


def busy_threads(args: argparse.Namespace, recipe: "Recipe") -> int:
    """How many threads will compute at once: those of the framework, in every process that runs a rank."""
    from ..training.planning import recipe_threads

    threads = recipe_threads(recipe, args.threads)
    if isinstance(threads, str):  # the framework decides
        threads = options.cpus()
    return threads * ranks.processes(recipe)


def changed_recipe(recipe: "Recipe", args: argparse.Namespace) -> "Recipe":
    """The recipe with the changes that the options request."""
    from ..contracts.device import named_device
    from ..contracts.leaves import leaves_of
    from ..contracts.recipe_entries import definition_keys
    from ..frameworks import framework

    settings = options.settings(args.set)
    settings |= ranks.rank_settings(args, recipe.definitions)
    if args.framework:
        settings["executor"] = args.framework
    if isinstance(name := settings.get("executor"), str):
        settings["executor"] = framework(name).from_model
    if args.reproducible is not None:
        leaves_of(args.reproducible)  # errors show up at once
        settings["reproducible"] = args.reproducible
    if args.evaluate_every is not None:
        settings["evaluate_every"] = args.evaluate_every
    if args.optimizer is not None:
        settings["optimizer"] = args.optimizer
    for key in definition_keys():
        if isinstance(text := settings.get(key), str):
            entries = definition_entries(key, text, recipe.definitions)
            settings = {**entries, **settings, key: entries[key]}
    if args.device:
        before = settings.get("executor_kwargs", recipe.entry("executor_kwargs", {}))
        settings["executor_kwargs"] = {**before, "device": named_device(args.device)}
    changed = recipe.with_settings(settings, args.division)
    ranks.check_ranks_are_given(changed, settings)
    return changed


def definition_entries(key: str, text: str, own: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of a recipe for a definition that a text describes: a class with its arguments, or a whole chain."""
    from ..contracts.recipe_entries import TABLE
    from ..definition_text import Names, parts_of
    from ..frameworks.library_optimizers import library_maker

    if key in ("scheme", "codec"):
        return {key: ranks.rank_definition(key, text, own)}
    if key != "optimizer" and text.isidentifier():
        return {key: text}
    names = Names(own)
    if key == "optimizer":
        names = Names(own, library_maker)
    parts = parts_of(text, TABLE[key].folder, names)
    entries: dict[str, Any] = {key: parts.maker}
    if key == "optimizer":
        optimizer = parts.whole()  # errors show up at once
        if not isinstance(parts.maker, type):
            return {key: optimizer}
    if parts.args:
        entries[f"{key}_args"] = parts.args
    if parts.settings:
        entries[f"{key}_kwargs"] = dict(parts.settings)
    return entries
