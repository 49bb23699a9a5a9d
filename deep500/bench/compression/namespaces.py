"""Network namespaces with one virtual cable each to a common bridge, whose rate `tc` limits in both directions."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from ...errors import Deep500Error, Unsupported, one_line
from ...results.compression.data import NOT_PERMITTED

PREFIX = "d5"
SUBNET = "10.250"
# a bucket of less than a burst of segments would throttle below the rate
BURST_BYTES = 65536
QUEUE = "400ms"
SECONDS = 20
HOW = (
    f"{NOT_PERMITTED} ({{reason}}): run `d5 bench compression` as root on Linux with iproute2, "
    "or in a container with --cap-add NET_ADMIN --cap-add SYS_ADMIN; the model takes the place of these measurements"
)


@dataclass(frozen=True)
class RankNamespace:
    """The place of one rank: its name, and the address of its interface."""

    name: str
    address: str
    interface: str = "eth0"


@contextmanager
def namespaces(count: int, mbit: float) -> Iterator[list[RankNamespace]]:
    """So many namespaces, whose interfaces send and receive at most `mbit` Mbit/s each; 0: as fast as they can.

    Raises Unsupported, with what to do, where they are not permitted.
    """
    own = f"{PREFIX}{os.getpid()}"
    _remove_orphans()
    made = [
        RankNamespace(f"{own}r{rank}", f"{SUBNET}.0.{rank + 1}")
        for rank in range(count)
    ]
    bridge = f"{own}br"
    try:
        try:
            _make(made, bridge, mbit)
        except (Deep500Error, OSError, subprocess.TimeoutExpired) as error:
            reason = one_line(error, 120)
            raise Unsupported(HOW.format(reason=reason)) from None
        yield made
    finally:
        _remove([one.name for one in made], bridge)


def _make(made: Sequence[RankNamespace], bridge: str, mbit: float) -> None:
    ip = _program("ip")
    # the bridge is in the first namespace's neighbour, so that nothing of the host's is touched
    hub = f"{bridge}ns"
    _run(ip, "netns", "add", hub)
    _run(ip, "-n", hub, "link", "add", bridge, "type", "bridge")
    _run(ip, "-n", hub, "link", "set", bridge, "up")
    for number, one in enumerate(made):
        port = f"p{number}"
        _run(ip, "netns", "add", one.name)
        veth = ["type", "veth", "peer", "name", one.interface, "netns", one.name]
        _run(ip, "-n", hub, "link", "add", port, *veth)
        _run(ip, "-n", hub, "link", "set", port, "master", bridge, "up")
        _run(ip, "-n", one.name, "link", "set", "lo", "up")
        address = ["addr", "add", f"{one.address}/16", "dev", one.interface]
        _run(ip, "-n", one.name, *address)
        _run(ip, "-n", one.name, "link", "set", one.interface, "up")
        if mbit:
            _limit(hub, port, mbit)
            _limit(one.name, one.interface, mbit)


def _limit(namespace: str, interface: str, mbit: float) -> None:
    """At most so much leaves this end of the cable."""
    rate = ["rate", f"{round(1e6 * mbit)}bit", "burst", f"{BURST_BYTES}b"]
    discipline = ["root", "tbf", *rate, "latency", QUEUE]
    words = ["qdisc", "add", "dev", interface, *discipline]
    _run(_program("ip"), "netns", "exec", namespace, _program("tc"), *words)


def _remove(names: Sequence[str], bridge: str) -> None:
    ip = shutil.which("ip")
    if ip is None:
        return
    for name in (*names, f"{bridge}ns"):
        subprocess.run([ip, "netns", "del", name], capture_output=True, timeout=SECONDS)


def _remove_orphans() -> None:
    """Namespaces of processes that were killed before they could remove theirs."""
    ip = shutil.which("ip")
    if ip is None:
        return
    done = subprocess.run(
        [ip, "netns", "list"], capture_output=True, text=True, timeout=SECONDS
    )
    for line in done.stdout.splitlines():
        name = line.split()[0]
        owner = name.removeprefix(PREFIX).partition("r")[0].partition("b")[0]
        is_ours = name.startswith(PREFIX) and owner.isdigit()
        if is_ours and not os.path.exists(f"/proc/{owner}"):
            subprocess.run(
                [ip, "netns", "del", name], capture_output=True, timeout=SECONDS
            )


def _program(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise Deep500Error(f"there is no program {name}")
    return path


def _run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise Deep500Error(said or f"{words[0]} ended with {done.returncode}")
