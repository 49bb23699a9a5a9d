"""check that frameworks compute the same network, node by node: forward, backward and one step of an optimizer"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Deep500Error
from ..progress import ProgressLine
from . import options
from .output import show_record

if TYPE_CHECKING:
    from ..validation.networks.checking import NetworkReport


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("network", metavar="MODEL", help="an ONNX file")
    options.framework(parser, "pytorch", ["pytorch"])
    add(
        "--data",
        type=Path,
        default=None,
        metavar="FILE",
        help="the arrays that go in, an .npz with one for every input (drawn by the seed)",
    )
    options.set_(parser, "the size of an open dimension, such as batch=4")
    options.random_seed(parser, "the inputs", 0)
    add("--verbose", action="store_true", help="show every check, not only what is wrong")
    options.timeout(parser, "all answers of one framework", 600.0)
    options.out(parser)
    options.report(parser)


def call(args: argparse.Namespace) -> int:
    from ..evidence.recording import recording

    _refuse_nonsense(args)
    with recording("network_check", _plan(args), args.out) as record, ProgressLine() as line:
        found = _report(args, line)
        for side in found.sides:
            record.append(side.to_json())
        finished = record.finish(files=found.files)
    return show_record(args, finished, page=args.report)


def _report(args: argparse.Namespace, progress: Callable[[float, str], None]) -> "NetworkReport":
    from ..contracts.network import Network
    from ..validation.networks.checking import check_network
    from ..validation.networks.checking.data import data_from_file

    network = Network.from_onnx(args.network)
    return check_network(
        network,
        args.framework,
        data=data_from_file(network, args.data) if args.data else None,
        seed=args.seed,
        dimensions=options.settings(args.set),
        timeout_s=args.timeout,
        progress=progress,
    )


def _plan(args: argparse.Namespace) -> dict[str, Any]:
    """What is asked, as it is written into the bundle."""
    return {
        "network": args.network,
        "frameworks": args.framework,
        "dimensions": options.settings(args.set),
        "data": str(args.data) if args.data else "",
        "seed": args.seed,
    }


def _refuse_nonsense(args: argparse.Namespace) -> None:
    from ..frameworks import framework

    for wanted in map(framework, args.framework):
        wanted.require()
    if not args.timeout > 0:
        raise Deep500Error(f"--timeout {args.timeout:g} leaves no time: give more than 0 seconds")
    for name, size in options.settings(args.set).items():
        if type(size) is not int or size < 1:
            raise Deep500Error(f"--set {name}={size}: the size of a dimension is 1 or more")
