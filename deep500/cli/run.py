"""run a recipe: train every seed, keep everything in a bundle, and say whether the result is acceptable"""

import argparse
import sys
from typing import TYPE_CHECKING, Any

from ..errors import Deep500Error
from ..progress import ProgressLine
from . import options, ranks
from .output import show_record
from .quiet import quiet_moment

if TYPE_CHECKING:
    from ..contracts.recipe import Recipe


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    options.recipe(parser)
    options.framework(parser, "the recipe's own", several=False)
    add(
        "--optimizer",
        default=None,
        metavar="NAME",
        help="the rule of the step, with its settings if not the defaults: Adam or 'Adam(0.01, beta1=0.8)'",
    )
    options.set_(parser, "an entry of the recipe, such as batch_size=32")
    add(
        "--division",
        default="closed",
        choices=("closed", "open"),
        help="which entries may be changed: MUTABLE ones only, or FIXED ones too, which the result says (closed)",
    )
    add(
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
    add(
        "--device",
        default=None,
        metavar="DEVICE",
        help="the device: cpu (the recipe's)",
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


def call(args: argparse.Namespace) -> int:
    from ..recipe_files import load_recipe
    from ..recipe_runner import run
    from ..training.events import ProgressBar

    if args.resume and not args.out:
        raise Deep500Error(
            "--resume needs --out FOLDER: where the run was interrupted, or is to begin"
        )
    recipe = changed_recipe(load_recipe(args.recipe), args)
    code = ranks.exit_code_of_other_ranks(args, recipe)
    if code is not None:
        return code
    with ProgressLine() as progress:
        quiet_moment(args, progress, options.cpus())
    with ranks.ending_all_ranks():
        outcome = run(
            recipe,
            args.out,
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


def changed_recipe(recipe: "Recipe", args: argparse.Namespace) -> "Recipe":
    """The recipe with the changes that the options request."""
    from ..contracts.device import CPUDevice, GPUDevice
    from ..frameworks import framework

    settings = options.settings(args.set)
    settings |= ranks.rank_settings(args)
    if args.framework:
        settings["executor"] = args.framework
    if isinstance(name := settings.get("executor"), str):
        settings["executor"] = framework(name).from_model
    if args.optimizer:
        settings |= _optimizer(args.optimizer)
    if isinstance(name := settings.get("optimizer"), str):
        settings["optimizer"] = _optimizer_class(recipe, name)
    if args.device:
        devices = {"cpu": CPUDevice(), "gpu": GPUDevice()}
        if args.device not in devices:
            raise Deep500Error(
                f"--device {args.device}: give {' or '.join(devices)}"
            )
        before = settings.get(
            "executor_kwargs", recipe.entry("executor_kwargs", {})
        )
        settings["executor_kwargs"] = {**before, "device": devices[args.device]}
    return recipe.with_settings(settings, args.division)


def _optimizer(text: str) -> dict[str, Any]:
    """The recipe entries for an optimizer, which is a name or a call with literals."""
    name, args, settings = options.literal_call("--optimizer", text)
    entries: dict[str, Any] = {"optimizer": name}
    if args:
        entries["optimizer_args"] = args
    if settings:
        entries["optimizer_kwargs"] = settings
    return entries


def _optimizer_class(recipe: "Recipe", name: str) -> Any:
    """The optimizer of this name, from the recipe's file or else from this package."""
    from .. import registry

    return recipe.definitions.get(name) or registry.named("optimizers", name)
