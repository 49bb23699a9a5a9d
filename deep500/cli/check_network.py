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
    from ..contracts.network import Network
    from ..validation.networks.checking import NetworkReport


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "models",
        nargs="+",
        metavar="MODEL",
        help="an ONNX file; a second one is checked against the first",
    )
    options.framework(parser, "pytorch; for two files none is needed", [])
    add(
        "--data",
        type=Path,
        default=None,
        metavar="PATH",
        help="the arrays that go in, an .npz with one for every input (drawn by the seed)",
    )
    options.set_(parser, "the size of an open dimension, such as batch=4")
    add(
        "--optimizer",
        default="SGD",
        metavar="NAME",
        help="the rule of the step that is compared: SGD, Momentum, Adam (SGD)",
    )
    options.random_seed(parser, "the inputs", 0)
    add(
        "--verbose",
        action="store_true",
        help="show every check, not only what is wrong",
    )
    options.timeout(parser, "all answers of one framework", 600.0)
    options.out(parser)
    options.report(parser)


def call(args: argparse.Namespace) -> int:
    from ..contracts.network import Network
    from ..evidence.recording import recording

    _check_arguments(args)
    networks = [Network.from_onnx(path) for path in args.models]
    plan = _plan(args, networks)
    with (
        recording("network_check", plan, args.out) as record,
        ProgressLine() as line,
    ):
        report = _report(args, networks, line)
        for side in report.sides:
            record.append(side.to_json())
        finished = record.finish(files=report.files)
    folder = Path(str(finished.bundle))
    files = [str(folder / name) for name in report.files]
    code = show_record(args, finished, args.report, {"files": files})
    if files and not args.json:
        print(f"to send to its developers: {', '.join(files)}")
    return code


def _report(
    args: argparse.Namespace,
    networks: "list[Network]",
    progress: Callable[[float, str], None],
) -> "NetworkReport":
    from ..validation.networks.checking import check_network
    from ..validation.networks.checking.data import data_from_file

    first, last = networks[0], networks[-1]
    against = first if len(networks) > 1 else None
    data = data_from_file(first, args.data) if args.data else None
    return check_network(
        last,
        args.framework,
        against=against,
        data=data,
        optimizer=args.optimizer,
        seed=args.seed,
        dimensions=options.settings(args.set),
        timeout_s=args.timeout,
        progress=progress,
    )


def _plan(
    args: argparse.Namespace, networks: "list[Network]"
) -> dict[str, Any]:
    """The request as it is written into the bundle."""
    from ..validation.networks.checking.remarks import remarks_of

    remarks: list[Any] = []
    for network in networks:
        remarks += remarks_of(network)
    return {
        "models": args.models,
        "frameworks": args.framework,
        "optimizer": args.optimizer,
        "dimensions": options.settings(args.set),
        "data": str(args.data) if args.data else "",
        "remarks": remarks,
        "seed": args.seed,
    }


def _check_arguments(args: argparse.Namespace) -> None:
    from .. import registry
    from ..frameworks import framework

    if len(args.models) > 2:
        raise Deep500Error(
            f"{len(args.models)} files: give one, or two to be compared"
        )
    registry.find("optimizers", args.optimizer)
    for adapter in map(framework, args.framework):
        if not adapter.available():
            adapter.require()  # raises an error that says what to install
    if not args.timeout > 0:
        raise Deep500Error(
            f"--timeout {args.timeout:g} leaves no time: give more than 0 seconds"
        )
    for name, size in options.settings(args.set).items():
        if type(size) is not int or size < 1:
            raise Deep500Error(
                f"--set {name}={size}: the size of a dimension is 1 or more"
            )
