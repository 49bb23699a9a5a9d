"""measure statements, functions or commands; several at once are compared"""

import argparse
import sys
from pathlib import Path

from ..errors import Deep500Error
from .output import show_record
from .progress import ProgressLine


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("statements", nargs="*", metavar="STATEMENT", help="Python code to time")
    add(
        "--function",
        action="append",
        default=[],
        metavar="MODULE:NAME",
        help="time a function that can be imported",
    )
    add("--command", action="append", default=[], metavar="CMD", help="time a shell command")
    add(
        "--setup",
        default="",
        metavar="CODE",
        help="runs once in every process, before the statements",
    )
    add(
        "--name",
        action="append",
        default=[],
        metavar="NAME",
        help="names of the candidates, in their order",
    )
    add(
        "--factor",
        action="append",
        default=[],
        metavar="NAME=A,B,…",
        help="measure at every one of these levels",
    )
    add("--budget", type=float, default=5.0, metavar="SECONDS", help="time to spend (5)")
    add("--precision", type=float, default=0.02, help="stop at this relative half-width (0.02)")
    add("--margin", type=float, default=0.02, help="differences up to this do not matter (0.02)")
    add("--level", type=float, default=0.95, help="level of confidence (0.95)")
    add(
        "--processes",
        type=int,
        default=None,
        metavar="N",
        help="exactly N processes, even beyond the budget",
    )
    add(
        "--cache",
        choices=("warm", "cold"),
        default="warm",
        help="drive the caches out before every call, or not",
    )
    add(
        "--sync",
        default=None,
        metavar="MODULE:NAME",
        help="call this to wait for a device before reading the clock",
    )
    add("--control", action="store_true", help="measure the first candidate twice, as a control")
    add(
        "--timeout",
        type=float,
        default=None,
        metavar="SECONDS",
        help="for one answer (3 x the budget, at least 10)",
    )
    add("--seed", type=int, default=None, help="of the random order (drawn and recorded)")
    add(
        "--out",
        type=Path,
        default=None,
        metavar="FOLDER",
        help="the bundle's new folder (under $DEEP500_HOME)",
    )
    add("--report", action="store_true", help="also write FOLDER.html")


def call(args: argparse.Namespace) -> int:
    from ..evidence.recording import recorded_run
    from ..measure.plan import make_plan

    plan = make_plan(
        _candidates(args),
        setup=args.setup,
        budget_s=args.budget,
        precision=args.precision,
        margin=args.margin,
        level=args.level,
        processes=args.processes,
        cache=args.cache,
        sync=args.sync,
        control=args.control,
        timeout_s=args.timeout,
        seed=args.seed,
        factors=_factors(args.factor),
    )
    with ProgressLine() as progress:
        record = recorded_run(plan, args.out, progress)
    return show_record(args, record, page=args.report)


def _candidates(args: argparse.Namespace) -> dict[str, object]:
    from ..measure.candidates import (
        Candidate,
        Command,
        Function,
        Statement,
    )

    found: list[Candidate] = [
        *(Statement(s, args.setup) for s in args.statements),
        *(Function(f, args.setup) for f in args.function),
        *(Command(c) for c in args.command),
    ]
    if not found:
        raise Deep500Error(
            "nothing to measure: give a STATEMENT, --function module:name or --command CMD"
        )
    if len(args.name) > len(found):
        raise Deep500Error(
            f"{len(args.name)} names for {len(found)} candidates: give at most one each"
        )
    named: dict[str, object] = {}
    for i, candidate in enumerate(found):
        name = args.name[i] if i < len(args.name) else " ".join(candidate.text.split())
        if name in named:
            print(
                f"d5: {name!r} is given twice; the second is called {name + ' #2'!r}",
                file=sys.stderr,
            )
            name = next(n for k in range(2, len(found) + 2) if (n := f"{name} #{k}") not in named)
        named[name] = candidate
    return named


def _factors(texts: list[str]) -> dict[str, list]:
    found: dict[str, list] = {}
    for text in texts:
        name, equals, levels = text.partition("=")
        if not equals or not levels or set("[](){}") & set(levels):
            raise Deep500Error(
                f"--factor {text!r} is not of the form name=level,level,… with numbers or words"
            )
        if name in found:
            raise Deep500Error(f"--factor {name} is given twice: list all its levels at once")
        found[name] = [_level(v) for v in levels.split(",")]
    return found


def _level(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
