"""Measurements that a run makes only if a metric needs them: memory, energy, work, the quality on training data.

A source is an event that adds counters to the history. One that is not available on this machine or for this network is
left out, and the reason goes into the plan, so that the metric is reported as unavailable with this reason.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from ...contracts.executor import Executor
from ...contracts.metric import Metric
from ...errors import Deep500Error
from ..events import Event
from .energy import energy
from .peak_memory import peak_memory
from .training_quality import training_quality
from .work import roofline, work

# from an executor and a batch size to an event; raises a Deep500Error with the reason if it is unavailable
Source: TypeAlias = Callable[[Executor, int], Event]

SOURCES: dict[str, Source] = {
    "energy": energy,
    "peak memory": peak_memory,
    "roofline": roofline,
    "training quality": training_quality,
    "work": work,
}


@dataclass(frozen=True)
class Sources:
    """The events that measure what metrics need, and the reasons for those that are unavailable."""

    events: tuple[Event, ...]
    unavailable: dict[str, str]


def sources_for(
    metrics: Iterable[Metric], executor: Executor, batch_size: int
) -> Sources:
    """The events that a run with this executor needs for these metrics."""
    needs = set[str]()
    for metric in metrics:
        needs.update(metric.needs)
    events = []
    unavailable = {}
    for name in sorted(needs & SOURCES.keys()):
        source = SOURCES[name]
        try:
            events.append(source(executor, batch_size))
        except Deep500Error as reason:
            unavailable[name] = str(reason)
    return Sources(tuple(events), unavailable)
