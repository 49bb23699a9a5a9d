"""The native collectives of virtual ranks: exact, in the order of the ranks."""

from typing import Any

import numpy as np

from ..contracts.collective import FUNCTIONS
from ..contracts.engine_cost import engine_cost
from ..contracts.loggp import LogGP
from ..contracts.transport import AllGather, AllReduce, Broadcast, is_on_device
from ..errors import Unsupported
from ._fingerprints import check_fingerprints, fingerprint
from ._requests import PendingRequest


def complete_collective(
    network: LogGP, number: int, requests: dict[int, PendingRequest]
) -> None:
    """Give every rank's request its result, and the time at which it is there."""
    in_order = [requests[rank] for rank in sorted(requests)]
    steps = [request.step for request in in_order]
    fingerprints = {rank: fingerprint(step) for rank, step in enumerate(steps)}
    check_fingerprints(fingerprints, number)
    first = steps[0]
    results: list[Any] = [None] * len(steps)
    if any(is_on_device(getattr(step, "array", None)) for step in steps):
        raise Unsupported(
            "virtual ranks sum arrays in the host's memory, and this one is on a device: copy it to NumPy first"
        )
    if isinstance(first, AllReduce):
        results = _reduced(steps)
    elif isinstance(first, Broadcast):
        results = _broadcast(steps)
    elif isinstance(first, AllGather):
        results = _gathered(steps)
    most_bytes = max(_nbytes(step) for step in steps)
    begin = max(request.posted for request in in_order)
    cost = engine_cost(type(first).__name__, len(steps), most_bytes).seconds(network)
    for request, result in zip(in_order, results, strict=True):
        request.result = result
        request.ready = begin + cost


def _nbytes(step: object) -> int:
    array = getattr(step, "array", None)
    return 0 if array is None else array.nbytes


def _reduced(steps: list[AllReduce]) -> list[np.ndarray]:
    reduce = FUNCTIONS[steps[0].op]
    total = steps[0].array.copy()
    for step in steps[1:]:
        reduce(total, step.array, out=total)
    return _written(steps, total)


def _broadcast(steps: list[Broadcast]) -> list[np.ndarray]:
    return _written(steps, steps[steps[0].root].array)


def _written(steps: list, value: np.ndarray) -> list[np.ndarray]:
    for step in steps:
        np.copyto(step.array, value)
    return [step.array for step in steps]


def _gathered(steps: list[AllGather]) -> list[list[np.ndarray]]:
    """Each rank gets copies of its own: nobody's changes are seen by others."""
    results = []
    for _ in steps:
        copies = [step.array.copy() for step in steps]
        results.append(copies)
    return results
