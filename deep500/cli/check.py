"""check that an operator is right: forward, gradient, shapes, determinism, batches and memory, each with a verdict"""

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Deep500Error
from . import options
from .output import show_record

if TYPE_CHECKING:
    from ..validation.checking.report import OperatorReport

DTYPES = options.FLOATS


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("what", choices=("operator",), help="what is checked")
    add(
        "operator",
        metavar="OPERATOR",
        help="a built-in one (Relu), or one in a file: my_op.py:IPowOp, ipowop.cpp:ipowop, my.py:fast_relu",
    )
    options.framework(parser, "pytorch", ["pytorch"])
    add(
        "--reference",
        default=None,
        metavar="FILE:NAME",
        help="a NumPy function that computes the same in float64",
    )
    options.shape(parser, "checked")
    options.renamed(
        parser, "--inputs", "--shape, one word for all inputs, as in --shape 4x6,int64:4x6"
    )
    options.set_(parser, "an attribute of the operator, such as alpha=0.3")
    options.dtype(parser, ["float64", "float32"])
    options.seed(parser, "the inputs", 0)
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
    with (
        tempfile.TemporaryDirectory() as folder,
        recording("check", _request(args), args.out) as record,
    ):
        for i, name in enumerate(args.framework):
            for report in _reports(args, name, folder if i == 0 and _pictures(args) else None):
                record.append(check_block(report))
        drawn = _draw(args, Path(folder) / "arrays.npz")
        finished = record.finish()
    code = show_record(args, finished, more={"pictures": drawn})
    if not args.json:
        for path in drawn:
            print(f"picture: {path}")
        if _pictures(args) and not drawn:
            print("no picture: no run gave an output of the right shape")
    return code


def _request(args: argparse.Namespace) -> dict[str, Any]:
    """What is asked, as it is written into the bundle."""
    return {
        "operator": args.operator,
        "attributes": options.settings(args.set),
        "reference": args.reference,
        "frameworks": args.framework,
        "dtypes": args.dtype,
        "shapes": args.shape,
        "seed": args.seed,
    }


def _reports(
    args: argparse.Namespace, framework: str, folder: str | None
) -> "list[OperatorReport]":
    """The checks on one framework; a process that does not come back is a wrong check."""
    from ..validation.checking.report import Check, OperatorReport
    from ..validation.isolation import Died

    try:
        return _from_child(args, framework, folder)
    except Died as error:
        died = Check("process", False, None, None, str(error))
        return [OperatorReport(args.operator, framework, "unknown", [died])]


def _from_child(
    args: argparse.Namespace, framework: str, folder: str | None
) -> "list[OperatorReport]":
    from ..validation.checking.report import OperatorReport
    from ..validation.isolation import isolated

    request = _request(args) | {"frameworks": [framework], "folder": folder}
    found = isolated(
        f"{__package__.rpartition('.')[0]}.validation.checking.remote:check", request, args.timeout
    )
    return [OperatorReport.from_json(data) for data in found]


def _refuse_nonsense(args: argparse.Namespace) -> None:
    from ..frameworks import framework

    for wanted in map(framework, args.framework):
        if not wanted.available():
            _ = wanted.module  # says in one line what to install
    if not args.timeout > 0:
        raise Deep500Error(f"--timeout {args.timeout:g} leaves no time: give more than 0 seconds")
    for path in (args.heatmap, args.variance):
        if path and path.suffix not in (".svg", ".png"):
            raise Deep500Error(f"a picture is an .svg or a .png file, and {path.name} is neither")


def _pictures(args: argparse.Namespace) -> bool:
    return bool(args.heatmap or args.variance)


def _draw(args: argparse.Namespace, arrays: Path) -> list[str]:
    if not _pictures(args) or not arrays.is_file():
        return []
    import numpy as np

    from ..validation.checking.heatmaps import difference_map, variance_map

    kept = np.load(arrays, allow_pickle=False)
    title = f"{kept['name']} on {args.framework[0]}, {kept['dtype']}"
    got = kept["got"].astype(str(kept["dtype"])) if str(kept["dtype"]) in DTYPES else kept["got"]
    made = [difference_map(args.heatmap, got, kept["want"], title)] if args.heatmap else []
    made += [variance_map(args.variance, kept["runs"], title)] if args.variance else []
    return [str(path) for path in made]
