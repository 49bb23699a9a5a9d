"""measure operators over shapes, dtypes, frameworks, kernels and directions; what is timed is checked"""

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import registry
from ..errors import Deep500Error
from . import benchmarking, options

if TYPE_CHECKING:
    from ..bench.operators.jobs import BenchProblem


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "operators",
        nargs="*",
        metavar="OPERATOR",
        help="MatMul, my_op.py:Name, my_op.cpp:name or my.py:function; several are compared",
    )
    options.shape(parser, "measured")
    options.set_(parser, "an attribute of the operator, such as alpha=0.3")
    options.renamed(parser, "--attribute", "--set NAME=VALUE")
    add(
        "--suite",
        default=None,
        metavar="SUITE",
        help="a suite of problems: deepbench:gemm, deepbench:conv, deepbench:rnn",
    )
    add(
        "--tier",
        default=None,
        metavar="TIER",
        help="how much of it: of a suite tiny (minutes on two cores), small or full (tiny)",
    )
    add(
        "--part",
        default=None,
        metavar="K/N",
        help="a part of the suite: every Nth problem, from the Kth on",
    )
    options.dtype(parser, ["float32"])
    options.reference(parser)
    options.framework(parser, "pytorch", ["pytorch"])
    add(
        "--kernel",
        nargs="+",
        default=[""],
        choices=("native", "composed", "compiled", "graph"),
        metavar="KERNEL",
        help="whose code runs: native, the framework's own (or yours, of your operator); composed, the formula; "
        "compiled, that through the framework's compiler; graph, native, captured on the device and replayed",
    )
    add(
        "--direction",
        nargs="+",
        default=["forward"],
        metavar="DIRECTION",
        help="the direction: forward, backward (forward)",
    )
    options.cache(parser)
    options.threads(parser)
    options.device(parser)
    options.lock_clock(parser)
    benchmarking.arguments(parser, 10.0, 120.0)


def call(args: argparse.Namespace) -> int:
    from ..bench.operator_benchmark import OperatorBenchmark
    from ..bench.threads import checked_threads

    options.on_devices(args)
    problems, scope = _problems(args)
    benchmark = OperatorBenchmark(
        tuple(problems),
        tuple(args.dtype),
        tuple(args.framework),
        tuple(args.kernel),
        tuple(args.direction),
        checked_threads(args.threads),
        args.reference or "",
        scope,
        args.cache == "cold",
    )
    code = benchmarking.run(args, benchmark)
    if not args.json:
        _suggest_rival(args, problems)
    return code


def _suggest_rival(
    args: argparse.Namespace, problems: "Sequence[BenchProblem]"
) -> None:
    """Say how to compare a user's operator that was timed alone."""
    operator = problems[0].operator
    if ":" in operator and not any(problem.rival for problem in problems):
        print(
            f"note: only {operator} was timed; to compare it, name a rival: d5 bench operator {operator} Relu, "
            "or another file",
            file=sys.stderr,
        )


def _problems(args: argparse.Namespace) -> "tuple[list[BenchProblem], str]":
    """The problems to measure, and the scope of the suite that they come from."""
    from ..bench.operators.rivals import rival_problems
    from ..bench.operators.suites import part, suite
    from ..check.operators.shape_text import SYNTAX

    if args.suite:
        if args.operators or args.shape or args.set:
            raise Deep500Error(
                "--suite brings its operators, shapes and attributes: leave yours out"
            )
        whole = suite(args.suite, args.tier or "tiny")
        if not args.part:
            return whole.problems, whole.scope
        chosen = part(whole.problems, args.part)
        scope = f"{whole.scope}; of these part {args.part}, {len(chosen)} problems"
        return chosen, scope
    if not args.operators:
        raise Deep500Error(
            "nothing to measure: give an OPERATOR with --shape, or --suite deepbench:gemm"
        )
    for option, value in (("--part", args.part), ("--tier", args.tier)):
        if value:
            raise Deep500Error(f"{option} is for --suite: leave it out")
    attributes = options.settings(args.set)
    if not args.shape:
        name, _, _ = args.operators[0].partition("(")
        if ":" not in name:
            registry.named("operators", name)  # an unknown one needs no shape
        raise Deep500Error(f"no --shape for {args.operators[0]}: {SYNTAX}")
    problems = rival_problems(
        args.operators, args.shape, attributes, args.reference or ""
    )
    return problems, ""
