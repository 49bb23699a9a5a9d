"""measure operators over shapes, dtypes, frameworks, kernels and directions; what is timed is checked"""

import argparse
import ast
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Deep500Error, Unsupported
from .output import show_record
from .progress import ProgressLine

if TYPE_CHECKING:
    from ..validation.benching.jobs import Problem


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("operators", nargs="*", metavar="OPERATOR", help="MatMul, my_op.py:Name or my_op.cpp:name")
    add(
        "--shape",
        nargs="+",
        default=[],
        help="of the inputs: 64x64,64x64 (several: each is measured)",
    )
    add(
        "--attribute",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="of the operator, such as alpha=0.3",
    )
    add(
        "--suite",
        default=None,
        help="sizes of others: deepbench:gemm, deepbench:conv, deepbench:rnn",
    )
    add("--tier", default="tiny", help="of the suite: tiny (minutes on two cores), small, full")
    add(
        "--part",
        default=None,
        metavar="K/N",
        help="only every Nth problem of the suite, from the Kth on",
    )
    add(
        "--dtype",
        nargs="+",
        default=["float32"],
        help="float16, bfloat16, float32, float64 (float32)",
    )
    add(
        "--framework",
        nargs="+",
        default=["pytorch"],
        help="as `d5 list frameworks` names them (pytorch)",
    )
    add(
        "--kernel",
        nargs="+",
        default=[""],
        choices=("native", "composed", "compiled"),
        metavar="KERNEL",
        help="native: the framework's own; composed: our formula; compiled: that through the framework's compiler",
    )
    add("--direction", nargs="+", default=["forward"], help="forward, backward (forward)")
    add(
        "--threads",
        type=int,
        default=None,
        metavar="N",
        help="for every framework (all CPUs; 0: its own choice)",
    )
    add("--device", default="cpu", help="cpu, the only one there is")
    add(
        "--budget",
        type=float,
        default=10.0,
        metavar="SECONDS",
        help="time to spend on measuring (10)",
    )
    add("--precision", type=float, default=0.02, help="stop at this relative half-width (0.02)")
    add("--margin", type=float, default=0.02, help="differences up to this do not matter (0.02)")
    add("--level", type=float, default=0.95, help="level of confidence (0.95)")
    add(
        "--processes",
        type=int,
        default=None,
        metavar="N",
        help="exactly N rounds of processes, beyond the budget",
    )
    add(
        "--timeout",
        type=float,
        default=None,
        metavar="SECONDS",
        help="for one answer (3 x the budget, at least 120)",
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
    from ..validation.benching.planning import Factors, operator_plan

    if args.device != "cpu":
        raise Unsupported(
            f"--device {args.device}: operators run on the CPU here, there is no GPU; leave it out"
        )
    problems, scope = _problems(args)
    factors = Factors(
        args.dtype, args.framework, args.kernel, args.direction, _threads(args.threads)
    )
    with ProgressLine() as progress:
        plan = operator_plan(
            problems,
            factors,
            scope,
            lambda text: progress(0.0, text),
            budget_s=args.budget,
            precision=args.precision,
            margin=args.margin,
            level=args.level,
            processes=args.processes,
            timeout_s=args.timeout,
            seed=args.seed,
        )
        record = recorded_run(plan, args.out, progress)
    return show_record(args, record, page=args.report)


def _threads(asked: int | None) -> int:
    if asked is not None and not 0 <= asked <= 4096:
        raise Deep500Error(
            f"--threads {asked}: give 1 or more, or 0 for each framework's own choice"
        )
    return len(os.sched_getaffinity(0)) if asked is None else asked


def _problems(args: argparse.Namespace) -> "tuple[list[Problem], str]":
    from ..validation.benching.jobs import SYNTAX, Problem
    from ..validation.benching.suites import part, suite

    if args.suite:
        if args.operators or args.shape or args.attribute:
            raise Deep500Error(
                "--suite brings its operators, shapes and attributes: leave yours out"
            )
        found = suite(args.suite, args.tier)
        if not args.part:
            return found.problems, found.scope
        chosen = part(found.problems, args.part)
        return chosen, f"{found.scope}; of these part {args.part}, {len(chosen)} problems"
    if not args.operators:
        raise Deep500Error(
            "nothing to measure: give an OPERATOR with --shape, or --suite deepbench:gemm"
        )
    if args.part:
        raise Deep500Error("--part is for --suite: leave it out")
    attributes = dict(_attribute(text) for text in args.attribute)
    if not args.shape:
        raise Deep500Error(f"no --shape for {args.operators[0]}: {SYNTAX}")
    return [Problem(op, attributes, shape) for op in args.operators for shape in args.shape], ""


def _attribute(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise Deep500Error(f"--attribute {text!r} is not of the form name=value")
    try:
        found = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
    return name, tuple(found) if isinstance(found, list) else found
