"""print what a network consists of and costs: operations, bytes, parameters, memory, work and depth; nothing is run"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Deep500Error
from . import options
from .output import print_json, write_page

if TYPE_CHECKING:
    from ..contracts.network import Network
    from ..costs.network_costs import NetworkCosts

MOST_NODES = 60


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    options.model(parser)
    options.set_(
        parser,
        "of a file an open dimension (length=64), else the network's (depth=44)",
    )
    options.transform(parser, "a transformation that is applied first")
    options.batch(parser, 1, " (1)")
    options.framework(
        parser,
        "memory is predicted for it; none: kernels without workspace",
        several=False,
    )
    options.most(parser, f"the {MOST_NODES} heaviest nodes", MOST_NODES)
    add(
        "--picture",
        type=Path,
        default=None,
        metavar="FILE",
        help="a picture of the graph (.svg), as well",
    )


def call(args: argparse.Namespace) -> int:
    from ..check.networks.loading import load_network
    from ..costs.network_costs import network_costs
    from ..costs.summary import costs_report
    from ..reports.terminal import terminal

    if args.most < 1:
        raise Deep500Error(f"--most {args.most} shows nothing: give at least 1")
    if args.picture and args.picture.suffix != ".svg":
        raise Deep500Error(
            f"the picture is an .svg file, and {args.picture.name} is none"
        )
    network, sizes = load_network(
        args.model, options.settings(args.set), args.transform
    )
    costs = network_costs(network, args.batch, sizes=sizes, framework=args.framework)
    picture = _drawn(args.picture, network, costs) if args.picture else None
    if args.json:
        print_json(costs.to_json() | {"picture": picture})
        return 0
    print(terminal(costs_report(costs, args.most, args.framework)))
    if picture:
        print(f"picture: {picture}")
    return 0


def _drawn(path: Path, network: "Network", costs: "NetworkCosts") -> str:
    from ..costs.picture import network_svg

    return str(write_page(path, network_svg(network, costs)))
