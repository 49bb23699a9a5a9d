"""What the ranks of an epoch report, and how their reports become one history."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ..contracts.transport import Traffic
from .replica import Replica


@dataclass(frozen=True)
class EpochReport:
    """One rank's numbers of an epoch; the lists have a number for each of its steps."""

    rank: int
    losses: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    waiting: list[float] = field(default_factory=list)
    loading: list[float] = field(default_factory=list)
    batch: list[int] = field(default_factory=list)
    series: dict[str, list[float]] = field(default_factory=dict)
    messages: int = 0
    bytes: int = 0
    modelled_bytes: int = 0  # of these, in collectives of the engine's own
    # of flat buffers on a device; None for tensors in the host's memory
    copies_to_host: int | None = None

    @classmethod
    def of(
        cls,
        replica: Replica,
        converted: Callable[[Any], float],
        before: Mapping[str, Mapping[str, int]],
        traffic: Traffic,
    ) -> "EpochReport":
        """What a replica has recorded, and what it has sent since `before`."""
        earlier = Traffic(**before)  # type: ignore[arg-type]
        messages = traffic.sent_messages - earlier.sent_messages
        sent_bytes = traffic.sent_bytes - earlier.sent_bytes
        modelled = traffic.modelled_bytes - earlier.modelled_bytes
        report = cls(
            replica.rank,
            messages=messages,
            bytes=sent_bytes,
            modelled_bytes=modelled,
            copies_to_host=replica.copies_to_host,
        )
        for step in replica.steps:
            report.losses.append(converted(step.loss))
            report.seconds.append(step.seconds)
            report.waiting.append(step.waiting)
            report.loading.append(step.loading)
            report.batch.append(step.size)
        for name, numbers in replica.series.items():
            report.series[name] = numbers.copy()
        return report

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "EpochReport":
        return cls(**document)


@dataclass(frozen=True)
class MergedEpoch:
    """The series and counters of an epoch of all ranks."""

    series: dict[str, list[float]]
    counters: dict[str, float]


def merge_reports(reports: Sequence[EpochReport]) -> MergedEpoch:
    """The history of one epoch: losses by the shares of the batch, the time of the slowest rank, and every rank's own.

    Step k is over when the last rank has done k steps: asynchronous ranks need not do them at the same time.
    """
    training = [report for report in reports if report.batch]
    sizes = np.array([report.batch for report in training], float)
    losses = np.array([report.losses for report in training], float)
    seconds = np.array([report.seconds for report in training], float)
    batch = sizes.sum(axis=0)
    ends = np.cumsum(seconds, axis=1).max(axis=0)
    # a rank without examples has a loss of none
    shares = np.where(sizes > 0, losses, 0.0) * sizes
    series = {
        "loss": (shares.sum(axis=0) / batch).tolist(),
        "seconds": np.diff(ends, prepend=0.0).tolist(),
        "data": np.array([report.loading for report in training]).max(axis=0).tolist(),
        "batch": batch.tolist(),
    }
    counters: dict[str, float] = {}
    for report in reports:
        of_rank = f"of rank {report.rank}"
        series[f"seconds {of_rank}"] = report.seconds
        series[f"waiting {of_rank}"] = report.waiting
        for name, numbers in report.series.items():
            series[f"{name} {of_rank}"] = numbers
        counters[f"bytes {of_rank}"] = report.bytes
        counters[f"modelled bytes {of_rank}"] = report.modelled_bytes
        counters[f"messages {of_rank}"] = report.messages
        if report.copies_to_host is not None:
            counters[f"copies to the host {of_rank}"] = report.copies_to_host
    return MergedEpoch(series, counters)
