"""The options of a virtual cluster: its network, its noise, and what happens to single ranks."""

import argparse
import math
import warnings
from typing import TYPE_CHECKING, Any

from ..errors import Deep500Error, unknown

if TYPE_CHECKING:
    from ..bench.simulated.runner import Cluster
    from ..cluster.network import ClusterLevel, ClusterNetwork

PARAMETERS = {
    "L": "latency of the network in nanoseconds (2500)",
    "o": "overhead of the processor per message in nanoseconds (1500)",
    "g": "gap between messages in nanoseconds (1000)",
    "G": "gap per byte in nanoseconds (6)",
    "O": "overhead of the processor per byte in nanoseconds (0)",
    "S": "the longest message that does not wait for its receive (65535)",
}
SEEDS = 10  # if something is drawn


def cluster_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    for name, meaning in PARAMETERS.items():
        metavar = "BYTES" if name == "S" else "NS"
        add(f"-{name}", type=float, default=None, metavar=metavar, help=meaning)
        # the long spelling of other simulators
        hidden = argparse.SUPPRESS
        add(f"--{name}", dest=name, type=float, default=hidden, help=hidden)
    add(
        "--network",
        default=None,
        metavar="BUNDLE",
        help="a network that `d5 bench collective` has fitted, instead of parameters",
    )
    add(
        "--transport",
        default="mpi",
        metavar="TRANSPORT",
        help="what carries messages in that benchmark (mpi)",
    )
    add(
        "--near",
        action="append",
        default=[],
        metavar="RANKS:L=NS,…",
        help="a nearer level, of so many neighbouring ranks: 8:L=300,o=200,g=100,G=0.1 (several: core, node)",
    )
    add(
        "--noise",
        default=None,
        metavar="NOISE",
        help="what interrupts processors: 'Periodic(every=1e-2, lasting=25e-6)', 'RandomDetours(every=1e-3)', "
        "'RecordedDetours(\"noise.txt\")', as `d5 doctor --noise` records it",
    )
    add(
        "--seeds",
        type=int,
        default=None,
        metavar="N",
        help=f"how many seeds of what is drawn the interval is over ({SEEDS}; 1 if nothing is)",
    )
    add(
        "--speed",
        nargs="+",
        default=[],
        metavar="RANK=FACTOR",
        help="ranks that compute so many times longer: 3=2.0",
    )
    add(
        "--stragglers",
        default=None,
        metavar="SHARE=FACTOR",
        help="a share of ranks, drawn by every seed, that compute so many times longer: 0.01=2",
    )
    add(
        "--kill",
        nargs="+",
        default=[],
        metavar="RANK=SECONDS",
        help="ranks that die, and when: 3=0.001",
    )


def given_cluster(args: argparse.Namespace) -> "Cluster":
    """The cluster of these options."""
    from ..bench.collective_benchmark import TRANSPORTS
    from ..bench.simulated.runner import Cluster
    from ..cluster.disturbances import NANO, Disturbances
    from ..definition_text import definition_of

    if args.transport not in TRANSPORTS:
        raise unknown("transport", args.transport, TRANSPORTS)
    noise = definition_of(args.noise, "noises") if args.noise else None
    speed = dict(rank_value("--speed", text) for text in args.speed)
    kills = dict(rank_value("--kill", text) for text in args.kill)
    death = {rank: round(seconds * NANO) for rank, seconds in kills.items()}
    stragglers = 0.0, 1.0
    if args.stragglers is not None:
        stragglers = _numbers("--stragglers", args.stragglers)
    disturbances = Disturbances(noise, speed, stragglers, death)
    if noise is not None:
        noise.detours()  # raises what is wrong with it
    network, elsewhere = _network(args)
    return Cluster(network, disturbances, elsewhere)


def seeds_of(args: argparse.Namespace, cluster: "Cluster") -> list[int]:
    """The seeds 1, 2 …; a single one if nothing is drawn."""
    from ..results.simulating.data import MOST_SEEDS

    count = args.seeds
    if count is None:
        count = SEEDS if cluster.disturbances.is_random else 1
    if not 1 <= count <= MOST_SEEDS:
        raise Deep500Error(f"--seeds {count}: give 1 to {MOST_SEEDS}")
    return list(range(1, count + 1))


def rank_value(option: str, text: str) -> tuple[int, float]:
    rank, value = _numbers(option, text)
    if rank != int(rank):
        raise Deep500Error(f"{option} {text}: give a rank and a number, as in 3=2.0")
    return int(rank), value


def _numbers(option: str, text: str) -> tuple[float, float]:
    """The numbers on both sides of an equals sign."""
    left, _, right = text.partition("=")
    try:
        return float(left), float(right)
    except ValueError:
        raise Deep500Error(f"{option} {text}: give two numbers, as in 3=2.0") from None


def _network(args: argparse.Namespace) -> "tuple[ClusterNetwork, str]":
    """The network, and a warning if its figures are another machine's."""
    from ..cluster.network import ClusterLevel, ClusterNetwork, cluster_network

    given = {name: getattr(args, name) for name in PARAMETERS}
    own = {name: value for name, value in given.items() if value is not None}
    nearer = [_level(text) for text in args.near]
    if args.network is None:
        level = ClusterLevel(**_checked(own))
        calibration = "parameters as given, beside LogGOPSim's defaults"
        if not own:
            calibration = ClusterNetwork().calibration
        return ClusterNetwork((*nearer, level), calibration), ""
    if set(own) - {"S"}:
        raise Deep500Error(
            f"--network brings its own parameters: leave out -{min(set(own) - {'S'})}"
        )
    from ..bench.collectives.from_python import fitted_network

    fitted = fitted_network(args.network, args.transport)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted.warn_elsewhere()
    elsewhere = "; ".join(str(warning.message) for warning in caught)
    if elsewhere:
        warnings.warn(elsewhere, stacklevel=2)
    eager = _checked(own).get("S", ClusterLevel().S)
    return cluster_network(fitted, nearer, eager), elsewhere


def _level(text: str) -> "ClusterLevel":
    """A nearer level: 8:L=300,o=200,g=100,G=0.1."""
    from ..cluster.network import ClusterLevel

    ranks, _, rest = text.partition(":")
    settings: dict[str, float] = {}
    known = PARAMETERS
    for part in rest.split(",") if rest else []:
        name, _, value = part.partition("=")
        try:
            settings[name.strip()] = float(value)
        except ValueError:
            settings = {"": 0.0}
    if not ranks.isdecimal() or not set(settings) <= set(known):
        raise Deep500Error(
            f"--near {text}: give neighbouring ranks and parameters, as in 8:L=300,o=200,g=100,G=0.1"
        )
    return ClusterLevel(int(ranks), **_checked(settings))


def _checked(settings: dict[str, Any]) -> dict[str, Any]:
    """Whole numbers as such; ClusterLevel says which have to be."""
    checked = {}
    for name, value in settings.items():
        if not math.isfinite(value):
            raise Deep500Error(f"{name}={value:g} of a network: give a finite number")
        checked[name] = int(value) if value == int(value) else value
    return checked
