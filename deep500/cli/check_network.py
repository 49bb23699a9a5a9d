"""check that frameworks compute the same network, node by node: forward, backward and one step of an optimizer"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Deep500Error
from ..progress import ProgressLine
from . import options
from .check import common_arguments
from .output import show_record

if TYPE_CHECKING:
    from ..check.report import Reports
    from ..contracts.network import Network


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "models",
        nargs="+",
        metavar="NETWORK",
        help="an ONNX file, a built-in network (resnet), or my.py:function; a second one is checked against the first",
    )
    add(
        "--against",
        default=None,
        metavar="WHAT",
        help="what it is compared with: an engine that is a function (engine.py:run), or a network that is the truth",
    )
    options.framework(parser, "pytorch; for two files none is needed", [])
    options.device(parser)
    add(
        "--data",
        type=Path,
        default=None,
        metavar="PATH",
        help="the arrays that go in, an .npz with one for every input (drawn by the seed)",
    )
    options.set_(
        parser,
        "of a file an open dimension (length=64), else the network's (depth=44)",
    )
    options.transform(
        parser, "a transformation whose result is compared with the network"
    )
    options.batch(parser, None, " (2 or what the network needs)")
    add(
        "--optimizer",
        default="SGD",
        metavar="NAME",
        help="the rule of the step that is compared: 'Adam(0.01) | ClipByNorm(1.0)', 'my.py:Mine(0.01)' (SGD)",
    )
    common_arguments(parser, "the inputs", "all answers of one framework", 600.0)


def call(args: argparse.Namespace) -> int:
    from ..bundle.records.recording import recording
    from ..check.networks.loading import load_network

    options.on_devices(args)
    _check_arguments(args)
    names = _networks(args)
    settings = options.settings(args.set)
    loaded = [load_network(name, settings) for name in names]
    if args.transform:
        loaded.append(load_network(names[0], settings, args.transform))
    networks = [network for network, _ in loaded]
    _, sizes = loaded[0]
    dimensions = _dimensions(args, networks[0], sizes)
    plan = _plan(args, networks, dimensions)
    with (
        recording("network_check", plan, args.out) as record,
        ProgressLine() as line,
    ):
        report = _report(args, networks, dimensions, line)
        for side in report.reports:
            record.append(side.document)
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
    dimensions: dict[str, int],
    progress: Callable[[float, str], None],
) -> "Reports":
    from ..check.networks import check_network
    from ..check.networks.data import data_from_file

    first, last = networks[0], networks[-1]
    against: Any = first if len(networks) > 1 else None
    if _is_engine(args.against):
        against = args.against
    data = data_from_file(first, args.data) if args.data else None
    return check_network(
        last,
        args.framework,
        against=against,
        data=data,
        optimizer=args.optimizer,
        seed=args.seed,
        dimensions=dimensions,
        timeout_s=args.timeout,
        progress=progress,
    )


def _is_engine(against: str | None) -> bool:
    return against is not None and ".py:" in against


def _networks(args: argparse.Namespace) -> list[str]:
    """The networks to load, the one that is the truth first."""
    if args.against is None or _is_engine(args.against):
        return list(args.models)
    return [args.against, *args.models]


def _dimensions(
    args: argparse.Namespace, network: "Network", sizes: dict[str, int]
) -> dict[str, int]:
    """The sizes of open dimensions that are asked for."""
    if args.batch is None:
        return sizes
    if not network.dimensions:
        raise Deep500Error(
            f"--batch {args.batch}: {network.name} has no open dimension, its batch is fixed"
        )
    batch = network.dimensions[0]
    if sizes.get(batch, args.batch) != args.batch:
        raise Deep500Error(
            f"--batch {args.batch} and --set {batch}={sizes[batch]} name two sizes of one dimension: give one of them"
        )
    return {**sizes, batch: args.batch}


def _plan(
    args: argparse.Namespace,
    networks: "list[Network]",
    dimensions: dict[str, int],
) -> dict[str, Any]:
    """The request as it is written into the bundle."""
    from ..check.networks.matching import comparable
    from ..check.networks.remarks import UNSEEN, remarks_of

    remarks: list[Any] = []
    for network in networks:
        remarks += remarks_of(network)
    if len(networks) > 1:
        _, _, unlike = comparable(*networks)
        remarks += unlike
    names = _networks(args)
    if args.transform:
        names.append(args.transform)
    if _is_engine(args.against):
        names.append(args.against)
        remarks.append(UNSEEN)
    return {
        "models": names,
        "frameworks": args.framework,
        "optimizer": args.optimizer,
        "dimensions": dimensions,
        "data": str(args.data) if args.data else "",
        "remarks": list(dict.fromkeys(remarks)),
        "seed": args.seed,
        **options.device_facts(args),
    }


def _check_arguments(args: argparse.Namespace) -> None:
    from ..check.optimizers.subjects import load_optimizer

    if len(args.models) > 2:
        raise Deep500Error(f"{len(args.models)} files: give one, or two to be compared")
    if args.against and len(args.models) > 1:
        raise Deep500Error(
            f"two networks and --against {args.against}: give one network beside it"
        )
    if args.transform and (args.against or len(args.models) > 1):
        raise Deep500Error(
            "--transform compares a network with itself transformed: give one network, without --against"
        )
    if args.batch is not None and args.batch < 1:
        raise Deep500Error(f"--batch {args.batch}: give 1 or more")
    load_optimizer(args.optimizer)
    options.need_frameworks(args.framework)
    are_files = all(name.endswith(".onnx") for name in args.models)
    for name, size in options.settings(args.set).items():
        if are_files and (type(size) is not int or size < 1):
            raise Deep500Error(
                f"--set {name}={size}: the size of a dimension is 1 or more"
            )
