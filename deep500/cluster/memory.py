"""What a simulation needs of the machine's memory, said before it is paid."""

from ..errors import Deep500Error
from ..measure.machine.host.cgroups import memory_limit
from ..measure.machine.host.files import HostFiles, Unavailable
from ..measure.machine.host.memory import memory_available
from .schedule import MOST_NODES, NODE

GIB = 2**30
PER_RANK = 250  # bytes: clocks, queues of messages, events that wait
PER_EDGE = 4
SHARE = 0.9  # of the free memory that may be taken


def needed_bytes(ranks: int, nodes: int, edges: int) -> int:
    """What a simulation of so many ranks, operations and dependences takes."""
    return ranks * PER_RANK + nodes * NODE.itemsize + edges * PER_EDGE


def check_memory(subject: str, ranks: int, nodes: int, edges: int) -> None:
    """Raise a Deep500Error if that is more than this machine has."""
    if nodes > MOST_NODES:
        raise Deep500Error(
            f"{subject} has about {nodes:,} operations, and {MOST_NODES:,} can be simulated: take fewer ranks"
        )
    needed = needed_bytes(ranks, nodes, edges)
    free = free_bytes()
    if needed > SHARE * free:
        raise Deep500Error(
            f"{subject} needs about {needed / GIB:,.1f} GiB of memory for {ranks:,} ranks with {nodes:,} operations, "
            f"and {free / GIB:.1f} GiB are free: take fewer ranks or a smaller size"
        )


def free_bytes() -> float:
    """What the machine has free, or the limit of this process's group, whichever is less."""
    host = HostFiles()
    found = [float("inf")]
    for fact in (memory_available, memory_limit):
        try:
            value = fact(host)
        except (Unavailable, OSError, LookupError, ValueError):
            continue
        if not isinstance(value, str):
            found.append(value * GIB)
    return min(found)
