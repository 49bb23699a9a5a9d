"""check that an operator is right: forward, gradient, shapes, determinism, batches and memory, each with a verdict"""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Deep500Error
from ..progress import ProgressLine
from . import options
from .check import common_arguments
from .output import show_record

if TYPE_CHECKING:
    from ..check.operators.furthest_off import FurthestOutputs
    from ..check.report import CheckReport
    from ..custom.operator_text import OperatorText


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "operator",
        metavar="OPERATOR",
        help="a built-in one (Relu, 'Softmax(axis=0)'), or one in a file: my_op.py:IPowOp, ipowop.cpp:ipowop, "
        "my.py:fast_relu",
    )
    options.framework(parser, "pytorch", ["pytorch"])
    options.device(parser)
    options.reference(parser)
    options.shape(parser, "checked")
    options.renamed(
        parser,
        "--inputs",
        "--shape, one word for all inputs, as in --shape 4x6,int64:4x6",
    )
    options.set_(parser, "an attribute of the operator, such as alpha=0.3")
    options.dtype(parser, ["float64", "float32"])
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
    common_arguments(parser, "the inputs", "all checks of one framework", 120.0)


def call(args: argparse.Namespace) -> int:
    from ..bundle.records.recording import recording

    options.on_devices(args)
    _check_arguments(args)
    furthest: list[FurthestOutputs] = []
    with (
        recording("check", _plan(args), args.out) as record,
        ProgressLine() as line,
    ):
        for i, name in enumerate(args.framework):
            show_progress = partial(line, i / len(args.framework))
            to_picture = furthest if i == 0 and _pictures(args) else None
            report = _report(args, name, show_progress, to_picture)
            record.append(report.document)
        drawn = _draw(args, furthest[0]) if furthest else []
        finished = record.finish()
    code = show_record(args, finished, args.report, {"pictures": drawn})
    if not args.json:
        for path in drawn:
            print(f"picture: {path}")
        if _pictures(args) and not drawn:
            print("no picture: no run gave an output of the right shape")
    return code


def _plan(args: argparse.Namespace) -> dict[str, Any]:
    """The request as it is written into the bundle."""
    operator = _named(args)
    return {
        "noun": "operator",
        "operator": operator.address,
        "attributes": operator.attributes,
        "reference": args.reference,
        "frameworks": args.framework,
        "dtypes": args.dtype,
        "shapes": args.shape,
        "domain": args.domain,
        "sanitize": args.sanitize,
        "seed": args.seed,
        **options.device_facts(args),
    }


def _named(args: argparse.Namespace) -> "OperatorText":
    """The operator, with the attributes in its text and those of --set."""
    from ..custom.operator_text import OperatorText, parsed_operator

    text = parsed_operator(args.operator)
    attributes = {**options.settings(args.set), **text.attributes}
    return OperatorText(text.address, attributes)


def _report(
    args: argparse.Namespace,
    framework: str,
    show_progress: Callable[[str], None],
    furthest: "list[FurthestOutputs] | None",
) -> "CheckReport":
    """Check the operator on one framework; the outputs to draw are appended to `furthest`."""
    from ..check.operators.isolated import (
        CheckRequest,
        check_elsewhere,
        named_address,
    )
    from ..check.operators.subjects import as_domain

    named = _named(args)
    operator = named_address(named.address, named.attributes)
    reference = domain = None
    if args.reference:
        reference = named_address(args.reference, {})
    if args.domain:
        domain = as_domain(args.domain)
    request = CheckRequest(
        operator,
        framework,
        reference,
        shapes=args.shape,
        dtypes=args.dtype,
        seed=args.seed,
        domain=domain,
        timeout_s=args.timeout,
        sanitize=args.sanitize,
    )
    return check_elsewhere(request, show_progress, furthest)


def _check_arguments(args: argparse.Namespace) -> None:

    options.need_frameworks(args.framework)
    for path in (args.heatmap, args.variance):
        if path and path.suffix not in (".svg", ".png"):
            raise Deep500Error(
                f"a picture is an .svg or a .png file, and {path.name} is neither"
            )


def _pictures(args: argparse.Namespace) -> bool:
    """Whether pictures are requested."""
    return bool(args.heatmap or args.variance)


def _draw(args: argparse.Namespace, furthest: "FurthestOutputs") -> list[str]:
    """Draw the requested pictures; returns their paths."""
    from ..check.operators.heatmaps import difference_map, variance_map

    dtype = furthest.got.dtype.name
    title = f"{furthest.name} on {args.framework[0]}, {dtype}"
    paths = []
    if args.heatmap:
        path = difference_map(args.heatmap, furthest.got, furthest.want, title)
        paths.append(path)
    if args.variance:
        path = variance_map(args.variance, furthest.runs, title)
        paths.append(path)
    return [str(path) for path in paths]
