"""How the bytes of a distributed run were found: counted at the transport, or modelled."""

import math
from collections.abc import Mapping

from .data import OutcomeData

PREFIXES = ("bytes of rank ", "modelled bytes of rank ")
COPIES = "copies to the host of rank "
MODEL = (
    "by the algorithms that send least: with n bytes on each of P ranks, an allreduce sends 2n(P-1)/P, an "
    "allgather n(P-1), a broadcast n(P-1)/P"
)


def byte_counting(data: OutcomeData) -> list[str]:
    """Which share of the bytes was counted and which was modelled; nothing about a run that sent none."""
    total = modelled = 0.0
    known = False
    for run in data.runs:
        total += _sum(run.counters, PREFIXES[0])
        modelled += _sum(run.counters, PREFIXES[1])
        known = known or any(name.startswith(PREFIXES[1]) for name in run.counters)
    if not total:
        return []
    if not known:
        return [
            "Bytes: an old bundle, in which a collective counts its array once; they are no measure of what was sent."
        ]
    if not modelled:
        return ["Bytes: all of them were counted at the transport."]
    share = "all" if modelled == total else f"{100 * modelled / total:.3g} %"
    return [
        f"Bytes: {share} of them are modelled, those of the engine's own collectives, {MODEL}; messages are counted."
    ]


def host_copies(data: OutcomeData) -> list[str]:
    """How often gradients or parameters left a device to be sent; nothing about a run in the host's memory."""
    per_step = []
    for run in data.runs:
        counters = [n for n in run.counters if n.startswith(COPIES)]
        steps = len(run.step_seconds)
        if counters and steps:
            per_step.append(_sum(run.counters, COPIES) / len(counters) / steps)
    if not per_step:
        return []
    if not any(per_step):
        return ["Gradients were summed in the memory of the devices."]
    return [
        f"Copies to the host: {max(per_step):.3g} per step and rank, of gradients or parameters to be sent: this "
        "scheme, codec or transport computes there."
    ]


def _sum(counters: Mapping[str, float], prefix: str) -> float:
    return math.fsum(
        number for name, number in counters.items() if name.startswith(prefix)
    )
