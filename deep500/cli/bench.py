"""measure statements, functions or commands; several at once are compared"""

import argparse
import sys
from dataclasses import replace

from ..errors import Deep500Error
from ..progress import ProgressLine
from ..schema import encoded
from . import options
from .output import show_record
from .quiet import quiet_moment


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("statements", nargs="*", metavar="STATEMENT", help="Python code to time")
    add(
        "--function",
        action="append",
        default=[],
        metavar="MODULE:NAME",
        help="a function to time, one that can be imported",
    )
    add(
        "--command",
        action="append",
        default=[],
        metavar="CMD",
        help="a shell command to time",
    )
    add(
        "--setup",
        default="",
        metavar="CODE",
        help="code that runs once in every process, before the statements",
    )
    add(
        "--name",
        action="append",
        default=[],
        metavar="NAME",
        help="the name of a candidate; several in the candidates' order",
    )
    add(
        "--factor",
        action="append",
        default=[],
        metavar="NAME=A,B,…",
        help="a variable, and the levels to measure it at",
    )
    options.measuring(parser, 5.0, "of them")
    add(
        "--cache",
        choices=("warm", "cold"),
        default="warm",
        help="whether caches stay warm between calls, or are emptied (warm)",
    )
    add(
        "--sync",
        default=None,
        metavar="MODULE:NAME",
        help="a function that waits for a device, called before the clock is read",
    )
    add(
        "--control",
        action="store_true",
        help="the first candidate a second time, as a control",
    )
    options.wait_for_quiet(parser)
    options.timeout(parser, "one answer", None, "3 x the budget, at least 10")
    options.seed(parser, "the random order")
    options.out(parser)
    options.report(parser)


def call(args: argparse.Namespace) -> int:
    from ..bundle.records.recording import recorded_run
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
        moment = quiet_moment(args, progress)
        plan = replace(plan, about={**plan.about, "moment": encoded(moment)})
        record = recorded_run(plan, args.out, progress)
    return show_record(args, record, page=args.report)


def _candidates(args: argparse.Namespace) -> dict[str, object]:
    from ..measure.candidates import (
        Candidate,
        Command,
        Function,
        Statement,
    )

    candidates: list[Candidate] = []
    candidates += [Statement(code, args.setup) for code in args.statements]
    candidates += [Function(address, args.setup) for address in args.function]
    candidates += [Command(command) for command in args.command]
    if not candidates:
        raise Deep500Error(
            "nothing to measure: give a STATEMENT, --function module:name or --command CMD"
        )
    if len(args.name) > len(candidates):
        raise Deep500Error(
            f"{len(args.name)} names for {len(candidates)} candidates: give at most one each"
        )
    named: dict[str, object] = {}
    for i, candidate in enumerate(candidates):
        name = " ".join(candidate.text.split())
        if i < len(args.name):
            name = args.name[i]
        if name in named:
            print(
                f"d5: {name!r} is given twice; the second is called {name + ' #2'!r}",
                file=sys.stderr,
            )
            name = _unused_name(name, named)
        named[name] = candidate
    return named


def _unused_name(name: str, named: dict[str, object]) -> str:
    """The name with the first number that is not taken."""
    number = 2
    while f"{name} #{number}" in named:
        number += 1
    return f"{name} #{number}"


def _factors(texts: list[str]) -> dict[str, list]:
    """The levels of every factor by its name; raises a Deep500Error for a text of another form."""
    factors: dict[str, list] = {}
    for text in texts:
        form = "name=level,level,… with numbers or words"
        name, levels = options.named_value("--factor", text, form)
        if not levels or set("[](){}") & set(levels):
            raise Deep500Error(f"--factor {text!r} is not of the form {form}")
        if name in factors:
            raise Deep500Error(
                f"--factor {name} is given twice: list all its levels at once"
            )
        factors[name] = [_level(level) for level in levels.split(",")]
    return factors


def _level(text: str) -> int | float | str:
    """The level as a number, if it is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
