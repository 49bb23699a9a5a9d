"""A training step under one limit of workspace, by the plans that were made for it; or PyTorch's own step."""

from collections.abc import Mapping
from typing import Any

from ...errors import Unsupported
from ..benchmark import Job, Subject

PYTORCH = "PyTorch"  # its own convolutions, without a limit


class MicroBatchJob(Job):
    """One line of the result."""

    network: str
    batch: int
    workspace: str  # the limit, as text; empty for PyTorch's own
    policy: str
    threads: int
    # of every convolution: its node, and the plans of all directions
    plans: tuple[tuple[str, ...], ...] = ()
    # the bytes that the plans use, the sum of their times, and the same when measured again
    used: int = 0
    predicted: float = 0.0
    again: float = 0.0
    # why there are no plans; empty if there are
    refusal: str = ""

    @property
    def levels(self) -> dict[str, Any]:
        return {
            "network": self.network,
            "batch": self.batch,
            "workspace": self.workspace or "any",
        }

    @property
    def place(self) -> tuple[Any, ...]:
        return self.network, self.batch

    @property
    def text(self) -> str:
        return self.name({})

    @property
    def noun(self) -> str:
        return self.network

    @property
    def trial_text(self) -> str:
        return self.name({})

    def name(self, result: Mapping[str, Any]) -> str:
        limit = f" within {self.workspace}" if self.workspace else ""
        return f"{self.network} batch={self.batch} {self.policy}{limit}"

    def work(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        work: dict[str, Any] = {"policy": self.policy, "dtype": "float32"}
        if self.workspace:
            work["used"] = self.used
            work["predicted"] = self.predicted
            work["again"] = self.again
            work["plans"] = {node: list(texts) for node, *texts in self.plans}
        return work

    def subject(self) -> Subject:
        from .subject import MicroBatchSubject

        if self.refusal:
            raise Unsupported(self.refusal)
        return MicroBatchSubject(self)
