"""The modelled cost of an engine's own collectives, whose messages nobody sees."""

import math

from .collective_cost import CollectiveCost, rounds_to_all


def engine_cost(kind: str, size: int, nbytes: float) -> CollectiveCost:
    """With the best known schedule for large messages; `nbytes` is one rank's array.

    An allreduce is a reduce-scatter and an allgather, a broadcast a scatter and an allgather.
    """
    if size == 1:
        return CollectiveCost()
    rounds = rounds_to_all(size)
    share = nbytes * (size - 1) / size
    if kind == "Barrier":
        return CollectiveCost(messages=1, rounds=((rounds, 0),))
    if kind == "AllGather":
        others = nbytes * (size - 1)
        return CollectiveCost(1, others, rounds=((rounds, 0),), streamed=others)
    reduced = share if kind == "AllReduce" else 0.0
    return CollectiveCost(
        messages=1,
        bytes=math.ceil(2 * share),
        rounds=((2 * rounds, 0),),
        streamed=2 * share,
        reduced=reduced,
    )
