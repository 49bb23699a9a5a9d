"""One measurement of a network: on which framework, with which batch, inference or training."""

from collections.abc import Mapping
from typing import Any

from ..benchmark import Job, Subject

MODES = ("inference", "training")
GRAPH = "graph"


class NetworkJob(Job):
    """One line of the result of a benchmark."""

    model: str  # as load_network reads it
    attributes: Mapping[str, Any]  # of the network
    framework: str
    execution: (
        str  # deferred, eager or compiled; GRAPH for eager in a graph of the device
    )
    batch: int
    mode: str
    threads: int  # 0: the framework's choice
    cold: bool = False  # caches are emptied before each call
    transform: str = ""  # a transformation, as text

    def subject(self) -> Subject:
        from .subject import NetworkSubject

        return NetworkSubject(self)

    @property
    def levels(self) -> dict[str, Any]:
        return {"mode": self.mode, "batch": self.batch}

    @property
    def place(self) -> tuple[str, int]:
        return self.mode, self.batch

    @property
    def group(self) -> str:
        return self.framework

    @property
    def noun(self) -> str:
        return self.model

    @property
    def trial_text(self) -> str:
        how = f" {self.transform}" if self.transform else ""
        return f"{self.framework} {self.execution}{how} {self.mode} batch {self.batch}"

    def name(self, result: Mapping[str, Any]) -> str:
        return f"{self._candidate(result)} {self.mode} batch={self.batch}"

    def work(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        work = {key: facts[key] for key in facts if key != "state"}
        return work | {"candidate": self._candidate(facts), "dtype": "float32"}

    def _candidate(self, result: Mapping[str, Any]) -> str:
        """The framework and the kinds of its kernels, because other kernels are another program."""
        name = f"{self.framework} {self.execution}"
        if self.transform:
            name += f" {self.transform}"
        counts = result.get("kernels") or {}
        if not counts:
            return name
        if len(counts) == 1:
            [kind] = counts
            return f"{name} ({kind})"
        parts = []
        for kind in sorted(counts, reverse=True):
            parts.append(f"{counts[kind]} {kind}")
        kinds = ", ".join(parts)
        return f"{name} ({kinds})"
