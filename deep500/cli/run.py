"""run a recipe: train every seed, keep everything in a bundle, and say whether the result is acceptable"""

import argparse
import ast
from pathlib import Path

from ..errors import Deep500Error
from .output import show_record


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("recipe", type=Path, help="a recipe file, or the name of one of ours (digits_cnn)")
    add(
        "--framework",
        default=None,
        metavar="NAME",
        help="run it on this framework (the recipe's own)",
    )
    add(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change a MUTABLE entry, such as batch_size=32",
    )
    add("--seeds", type=int, default=None, metavar="N", help="how many seeds (the tier's)")
    add(
        "--tier",
        default="small",
        help="tiny (2 seeds, a tenth of the epochs), small (6 seeds), full (20 seeds)",
    )
    add(
        "--out",
        type=Path,
        default=None,
        metavar="FOLDER",
        help="the bundle's new folder (under $DEEP500_HOME)",
    )
    add("--resume", action="store_true", help="go on with an interrupted run in FOLDER")


def call(args: argparse.Namespace) -> int:
    from ..recipe_runner import cook, load_recipe
    from ..training.events import ProgressBar

    if args.resume and not args.out:
        raise Deep500Error(
            "--resume needs --out FOLDER: the folder of the run that was interrupted"
        )
    settings = dict(_setting(text) for text in args.set)
    if args.framework:
        settings["executor"] = args.framework
    recipe = load_recipe(args.recipe).with_settings(_named(settings))
    outcome = cook(recipe, args.out, args.tier, args.seeds, args.resume, [ProgressBar()])
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


def _setting(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals:
        raise Deep500Error(f"--set {text!r} is not of the form key=value")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
