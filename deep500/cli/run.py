"""run a recipe: train every seed, keep everything in a bundle, and say whether the result is acceptable"""

import argparse
import sys
from pathlib import Path

from ..errors import Deep500Error
from ..progress import ProgressLine
from . import options
from .output import show_record
from .quiet import quiet_moment


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "recipe",
        type=Path,
        metavar="RECIPE",
        help="a recipe file, or the name of one of ours (digits_cnn)",
    )
    options.framework(parser, "the recipe's own", several=False)
    options.set_(parser, "a MUTABLE entry of the recipe, such as batch_size=32")
    add("--seeds", type=int, default=None, metavar="N", help="how many seeds (the tier's)")
    options.tier(
        parser, "small", "tiny (2 seeds, a tenth of the epochs), small (6 seeds) or full (20 seeds)"
    )
    options.wait_for_quiet(parser)
    options.out(parser)
    add("--resume", action="store_true", help="go on with the run in --out, or begin it there")


def call(args: argparse.Namespace) -> int:
    from ..recipe_files import load_recipe
    from ..recipe_runner import run
    from ..training.events import ProgressBar

    if args.resume and not args.out:
        raise Deep500Error(
            "--resume needs --out FOLDER: where the run was interrupted, or is to begin"
        )
    settings = options.settings(args.set)
    if args.framework:
        settings["executor"] = args.framework
    recipe = load_recipe(args.recipe).with_settings(_named(settings))
    with ProgressLine() as progress:
        quiet_moment(args, progress, options.cpus())
    outcome = run(recipe, args.out, args.tier, args.seeds, args.resume, [ProgressBar()])
    if not outcome.trained:
        print(f"d5: {args.out} was finished before: nothing was trained", file=sys.stderr)
    return show_record(args, outcome.record, page=True)


def _named(settings: dict[str, object]) -> dict[str, object]:
    """A framework or an optimizer given by its name becomes what a recipe holds."""
    from .. import registry
    from ..frameworks import framework

    if isinstance(name := settings.get("executor"), str):
        settings["executor"] = framework(name).from_model
    if isinstance(name := settings.get("optimizer"), str):
        settings["optimizer"] = registry.find("optimizers", name)
    return settings
