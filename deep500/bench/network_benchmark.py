"""Benchmarks of networks: latency, throughput, memory, and the time of each of their operators."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self

from ..check.networks.loading import load_network
from ..errors import Deep500Error
from ..frameworks import devices_of, framework
from ..measure.plan import Plan, Settings
from .benchmark import Benchmark, Blocks, Trial, check_distinct, combinations
from .networks.breakdown import breakdown_blocks
from .networks.jobs import GRAPH, NetworkJob
from .notes import Notes
from .threads import busy_threads, threads_text

ALL = "all"  # every execution that a framework has
ADVICE = "give --execution all for every one that it has"
BREAKDOWN_SHARE = 0.25  # of the budget, for the operators one by one


class NetworkBenchmark(Benchmark):
    """Whole networks interleaved in fresh processes, then their operators one by one."""

    kind: ClassVar[str] = "network_bench"
    least_timeout_s: ClassVar[float] = 300.0  # compilers take their time
    smaller: ClassVar[str] = "batches, frameworks or executions"
    fewer_threads: ClassVar[str] = "use --threads 1"

    model: str
    attributes: Mapping[str, Any]  # of the network
    frameworks: tuple[str, ...] = ("pytorch",)
    batches: tuple[int, ...] = (1,)
    modes: tuple[str, ...] = ("inference",)
    # words of EXECUTIONS, or ALL; none: each framework's usual one
    executions: tuple[str, ...] = ()
    threads: int = 0  # 0: each framework's choice
    cold: bool = False  # caches are emptied before each call
    # a transformation as text: the network is measured with it and without
    transform: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.frameworks:
            # raises for an unknown name before anything is done
            framework(name)
        for batch in self.batches:
            if batch < 1:
                raise Deep500Error(f"--batch {batch}: give 1 or more")
        for word in self.executions:
            self._check_execution(word)
        check_distinct("--framework", self.frameworks)
        check_distinct("--batch", self.batches)

    def _check_execution(self, word: str) -> None:
        """Raise `Unsupported` if no framework of this request runs networks so."""
        adapters = [framework(name) for name in self.frameworks]
        # a trial tells whether a device captures graphs
        if word in (ALL, GRAPH) or any(word in fw.executions for fw in adapters):
            return
        raise adapters[0].no_execution(word, ADVICE)

    @property
    def busy_threads(self) -> int:
        return busy_threads(self.threads, self.frameworks)

    @property
    def measuring(self) -> Settings:
        return {"cache": "cold"} if self.cold else {}

    @contextmanager
    def prepared(self, notes: Notes) -> Iterator[Self]:
        """Transform it once here, where no deadline interrupts what the transformation may have to measure."""
        if self.transform:
            notes.says(self.transform)
            load_network(self.model, self.attributes, self.transform)
        yield self

    def jobs(self) -> list[NetworkJob]:
        model = self.model
        path = Path(model.partition(".py:")[0])
        if path.suffix == ".onnx":
            model = str(Path(model).absolute())
        jobs = []
        for name in self.frameworks:
            for levels in combinations(
                mode=self.modes,
                batch=self.batches,
                execution=self._executions_of(name),
                transform=list(dict.fromkeys(["", self.transform])),
            ):
                job = NetworkJob(
                    model,
                    self.attributes,
                    name,
                    **levels,
                    threads=self.threads,
                    cold=self.cold,
                )
                jobs.append(job)
        return jobs

    def _executions_of(self, name: str) -> list[str]:
        """How the network is to run on a framework, each way once."""
        offered = framework(name).executions
        if not self.executions:
            return [offered[0]]
        words = offered if ALL in self.executions else self.executions
        return list(dict.fromkeys(words))

    def about(self, trials: Sequence[Trial], notes: Notes) -> dict[str, Any]:
        about: dict[str, Any] = {
            "network": self.model,
            "file": _digest(self.model),
            "threads": threads_text(self.threads, self.frameworks),
            "inputs": "the same in every call, on the framework's side already",
        }
        if devices := devices_of(self.frameworks):
            about["devices"] = devices
        return about

    def more_blocks(self, plan: Plan, budget_s: float, notes: Notes) -> Blocks:
        yield from breakdown_blocks(plan, BREAKDOWN_SHARE * budget_s, notes)


def _digest(model: str) -> str:
    """The SHA-256 of the model's file, by which others can tell that theirs is the same; empty if it has none."""
    file, is_function, _ = model.partition(".py:")
    if is_function:
        file += ".py"
    path = Path(file)
    if not path.is_file():
        return ""
    return hashlib.sha256(path.read_bytes()).hexdigest()
