"""A launch of ranks as a job of the pipeline: it starts them, and puts together what they have measured."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...contracts.fitted_loggp import machine_name
from ...measure.sensing.others import Others, allowed_cpus
from ...results.collectives.data import CaseSamples, CollectiveLaunch, TimedCase
from ...schema import decoded, encoded
from ..benchmark import Job, Subject
from ..ranks import launched_results
from .costs import declared_cost
from .documents import CaseOnRank, CollectiveRequest, RankCases

RANK = "deep500.bench.collectives.rank"


class LaunchJob(Job):
    """The ranks of one launch, and the cases that they measure in turn."""

    transport: str
    ranks: int
    launch: int
    cases: tuple[Mapping[str, Any], ...]
    start: str
    seconds: float
    calls: int
    seed: int
    deadline: float

    @property
    def group(self) -> str:
        return f"{self.ranks} ranks over {self.transport}, launch {self.launch}"

    @property
    def text(self) -> str:
        return self.group

    def subject(self) -> "LaunchSubject":
        return LaunchSubject(self)

    @property
    def request(self) -> CollectiveRequest:
        cases = [decoded(TimedCase, case, "a case") for case in self.cases]
        return CollectiveRequest(
            self.transport,
            cases,
            self.start,
            self.seconds,
            self.calls,
            self.seed,
            self.deadline,
        )

    def block(self, **settings: Any) -> CollectiveLaunch:
        """Its block in the result; what is not given is as after a failure."""
        unknown: dict[str, Any] = {
            "library": "",
            "others": None,
            "start": self.start,
            "delay": 0,
            "residual": [],
            "bound": [],
            "rows": [],
        }
        return CollectiveLaunch(
            transport=self.transport,
            ranks=self.ranks,
            launch=self.launch,
            machine=machine_name(),
            cpus=len(allowed_cpus()),
            **{**unknown, **settings},
        )


class LaunchSubject(Subject):
    """The times are the result; they are measured by the ranks."""

    def __init__(self, job: LaunchJob):
        self.job = job

    def check(self) -> None:
        """Ranks check the results of all cases themselves."""

    def facts(self) -> dict[str, Any]:
        others = Others()
        if self.job.transport == "virtual":
            from .virtual_launch import virtual_launch

            block = virtual_launch(self.job)
        else:
            block = self._launched(others)
        return {"block": encoded(block)}

    def _launched(self, others: Others) -> CollectiveLaunch:
        job = self.job
        results = launched_results(
            RANK, job.request, RankCases, job.ranks, job.transport
        )
        return job.block(
            others=others.share(),
            library=results[0].library,
            start=results[0].start,
            delay=results[0].delay,
            residual=[result.residual for result in results],
            bound=[result.bound for result in results],
            rows=merged_rows(results, job.ranks),
        )


def merged_rows(results: Sequence[RankCases], ranks: int) -> list[CaseSamples]:
    """The rows of all ranks: per iteration, everyone's moments since the first arrival."""
    all_rows = zip(*(result.rows for result in results), strict=True)
    return [merged_row(rows, ranks) for rows in all_rows]


def merged_row(rows: Sequence[CaseOnRank], ranks: int) -> CaseSamples:
    begins = zip(*(row.begin for row in rows), strict=True)
    ends = zip(*(row.end for row in rows), strict=True)
    arrive, leave = [], []
    for begin, end in zip(begins, ends, strict=True):
        first = min(begin)
        arrive.append([moment - first for moment in begin])
        leave.append([max(0, moment - first) for moment in end])
    memories = [row.memory for row in rows if row.memory is not None]
    return CaseSamples(
        case=rows[0].case,
        arrive=arrive,
        leave=leave,
        sent=[row.sent for row in rows],
        modelled=rows[0].modelled,
        memory=max(memories, default=None),
        cost=declared_cost(rows[0].case, ranks),
        failure=rows[0].failure,
        is_wrong=rows[0].is_wrong,
    )
