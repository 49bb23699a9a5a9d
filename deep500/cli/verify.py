"""check every hash of a bundle and compute every derived number again from its raw samples"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Deep500Error
from . import options
from .output import print_json

if TYPE_CHECKING:
    from ..bundle.records.signing import Attestations
    from ..rerun.replay import Replay


def arguments(parser: argparse.ArgumentParser) -> None:
    options.bundle(parser, required=True)
    add = parser.add_argument
    add(
        "--replay",
        action="store_true",
        help="evaluate the weights of a recipe's run again and compare with what was recorded",
    )
    add(
        "--recipe",
        type=Path,
        default=None,
        metavar="FILE",
        help="the recipe's file for --replay, if it brings definitions of its own; it is run",
    )
    add(
        "--signer",
        default=None,
        metavar="KEY",
        help="whose signature must be there: a file of OpenSSH public keys, or SHA256:…",
    )


def call(args: argparse.Namespace) -> int:
    from ..bundle.records.recording import find_bundle
    from ..bundle.records.verification import verify

    if args.recipe and not args.replay:
        raise Deep500Error("--recipe is for --replay: give both")
    path = find_bundle(args.bundle)
    try:
        verification = verify(path)
    except Deep500Error as error:
        if args.json:
            print_json({"ok": False, "problems": [str(error)]})
        raise
    further = _further_checks(args, path) if verification.ok else {}
    codes = [0 if verification.ok else 1]
    codes += [check.exit_code for check in further.values()]
    code = 1 if 1 in codes else max(codes)
    if args.json:
        answers = {name: check.to_json() for name, check in further.items()}
        print_json(verification.to_json() | answers | {"ok": code == 0})
        return code
    print("\n".join(verification.lines))
    for check in further.values():
        for line in check.lines:
            print(line)
    return code


def _further_checks(
    args: argparse.Namespace, path: Path
) -> "dict[str, Attestations | Replay]":
    """The checks of a bundle that verifies: its signatures and, if requested, the replay."""
    from ..bundle.records.signing import attestations

    checks: dict[str, Any] = {"signatures": attestations(path, args.signer)}
    if args.replay:
        from ..rerun.recipe_files import load_recipe
        from ..rerun.replay import replay

        checks["replay"] = replay(path, args.recipe, load_recipe)
    return checks
