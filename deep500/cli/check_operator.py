"""check that an operator is right: forward, gradient, shapes, determinism, batches and memory, each with a verdict"""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Deep500Error
from ..progress import ProgressLine
from . import options
from .output import show_record

if TYPE_CHECKING:
    from ..validation.checking.pictured import Pictured
    from ..validation.checking.report import OperatorReport


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "operator",
        metavar="OPERATOR",
        help="a built-in one (Relu), or one in a file: my_op.py:IPowOp, ipowop.cpp:ipowop, my.py:fast_relu",
    )
    options.framework(parser, "pytorch", ["pytorch"])
    options.reference(parser)
    options.shape(parser, "checked")
    options.renamed(
        parser,
        "--inputs",
        "--shape, one word for all inputs, as in --shape 4x6,int64:4x6",
    )
    options.set_(parser, "an attribute of the operator, such as alpha=0.3")
    options.dtype(parser, ["float64", "float32"])
    options.random_seed(parser, "the inputs", 0)
    add(
        "--domain",
        nargs=2,
        type=float,
        default=None,
        metavar=("LOW", "HIGH"),
        help="the numbers that the operator is for; other inputs are not tried",
    )
    add(
        "--sanitize",
        action="store_true",
        help="also build a C++ operator with the compiler's sanitizers (address, undefined, thread)",
    )
    add(
        "--verbose",
        action="store_true",
        help="show every check, not only what is wrong",
    )
    options.timeout(parser, "all checks of one framework", 120.0)
    add(
        "--heatmap",
        type=Path,
        default=None,
        metavar="FILE",
        help="a picture of where it differs (.svg or .png)",
    )
    add(
        "--variance",
        type=Path,
        default=None,
        metavar="FILE",
        help="a picture of where it varies between runs (.svg or .png)",
    )
    options.out(parser)


def call(args: argparse.Namespace) -> int:
    from ..evidence.recording import recording
    from ..results.check import check_block

    _refuse_nonsense(args)
    pictured: list[Pictured] = []
    with recording("check", _plan(args), args.out) as record, ProgressLine() as line:
        for i, name in enumerate(args.framework):
            say = partial(line, i / len(args.framework))
            wanted = pictured if i == 0 and _pictures(args) else None
            record.append(check_block(_report(args, name, say, wanted)))
        drawn = _draw(args, pictured[0]) if pictured else []
        finished = record.finish()
    code = show_record(args, finished, more={"pictures": drawn})
    if not args.json:
        for path in drawn:
            print(f"picture: {path}")
        if _pictures(args) and not drawn:
            print("no picture: no run gave an output of the right shape")
    return code


def _plan(args: argparse.Namespace) -> dict[str, Any]:
    """What is asked, as it is written into the bundle."""
    return {
        "operator": args.operator,
        "attributes": options.settings(args.set),
        "reference": args.reference,
        "frameworks": args.framework,
        "dtypes": args.dtype,
        "shapes": args.shape,
        "domain": args.domain,
        "sanitize": args.sanitize,
        "seed": args.seed,
    }


def _report(
    args: argparse.Namespace,
    framework: str,
    say: Callable[[str], None],
    pictured: "list[Pictured] | None",
) -> "OperatorReport":
    """The checks on one framework."""
    from ..validation.checking.isolated import Request, check_elsewhere, named_address
    from ..validation.checking.subjects import as_domain

    request = Request(
        named_address(args.operator, options.settings(args.set)),
        framework,
        named_address(args.reference, {}, function=True) if args.reference else None,
        shapes=args.shape,
        dtypes=args.dtype,
        seed=args.seed,
        domain=as_domain(args.domain) if args.domain else None,
        timeout_s=args.timeout,
        sanitize=args.sanitize,
    )
    return check_elsewhere(request, say, pictured)


def _refuse_nonsense(args: argparse.Namespace) -> None:
    from ..frameworks import framework

    for wanted in map(framework, args.framework):
        if not wanted.available():
            _ = wanted.module  # says in one line what to install
    if not args.timeout > 0:
        raise Deep500Error(
            f"--timeout {args.timeout:g} leaves no time: give more than 0 seconds"
        )
    for path in (args.heatmap, args.variance):
        if path and path.suffix not in (".svg", ".png"):
            raise Deep500Error(
                f"a picture is an .svg or a .png file, and {path.name} is neither"
            )


def _pictures(args: argparse.Namespace) -> bool:
    return bool(args.heatmap or args.variance)


def _draw(args: argparse.Namespace, kept: "Pictured") -> list[str]:
    from ..validation.checking.heatmaps import difference_map, variance_map

    title = f"{kept.name} on {args.framework[0]}, {kept.got.dtype.name}"
    made = []
    if args.heatmap:
        made.append(difference_map(args.heatmap, kept.got, kept.want, title))
    if args.variance:
        made.append(variance_map(args.variance, kept.runs, title))
    return [str(path) for path in made]
