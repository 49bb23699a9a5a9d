"""print a recipe as it is hashed: that of a file, of one of ours by its name, or of a bundle"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import options
from .output import json_text, print_json

if TYPE_CHECKING:
    from ..training.recipe_plan import RecipePlan


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "recipe",
        metavar="RECIPE",
        help="a recipe file, the name of one of ours, or a bundle",
    )
    options.tier(parser, "small", "tiny, small or full; a bundle has its own")


def call(args: argparse.Namespace) -> int:
    about = _of_bundle(args.recipe) or _of_file(args)
    if args.json:
        print_json(about)
        return 0
    for key in ("hash", "fixed_hash", "division", "tier"):
        print(f"{key.replace('_', ' ')}: {about[key]}")
    for key, was, now in about.get("differences", ()):
        print(f"FIXED[{key!r}] was {json_text(was)} and is {json_text(now)}")
    print(json_text(about["recipe"]))
    return 0


def _of_bundle(name: str) -> dict[str, Any] | None:
    """The recipe in the plan of a bundle; None if this is not a bundle."""
    from ..bundle.encoding import MANIFEST
    from ..bundle.records.loading import load
    from ..bundle.records.recording import find_bundle
    from ..errors import Deep500Error

    path = Path(name)
    if path.suffix == ".py":
        return None
    try:
        bundle = find_bundle(name)
    except Deep500Error:
        return None
    is_bundle = (bundle / MANIFEST).exists() or (bundle / "plan.json").exists()
    if bundle.is_dir() and not is_bundle:
        return None
    record = load(bundle)
    if record.kind.name != "recipe":
        raise Deep500Error(
            f"{name} is of kind {record.kind.name!r} and holds no recipe"
        )
    return _about(record.plan)


def _of_file(args: argparse.Namespace) -> dict[str, Any]:
    from ..rerun.recipe_files import load_recipe
    from ..training.planning import make_plan, tier_recipe

    recipe = tier_recipe(load_recipe(args.recipe), args.tier)
    return _about(make_plan(recipe, args.tier))


def _about(plan: "RecipePlan") -> dict[str, Any]:
    """What a plan says of the recipe; older bundles say less."""
    from ..hashing.own_code import fixed_form_hash
    from ..schema import encoded

    form = plan.recipe.document
    about = {
        "hash": plan.hash,
        "fixed_hash": plan.fixed_hash or fixed_form_hash(form),
        "division": plan.division or "closed",
        "tier": plan.tier,
        "recipe": form,
    }
    written = encoded(plan)
    for key in ("differences", "scale", "sources"):
        if key in written:
            about[key] = written[key]
    return about
