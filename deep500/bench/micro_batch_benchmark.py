"""The benchmark of micro-batches: the time of a training step over limits of workspace."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Self

from .. import networks
from ..contracts.byte_count import byte_count
from ..errors import Deep500Error, unknown
from ..micro_batches.network_plan import plan_texts, seconds_again, total_seconds
from ..micro_batches.planning import POLICIES, POWERS, UNDIVIDED
from ..micro_batches.running import algorithm
from ..transformations.micro_batch import MicroBatch
from .benchmark import Benchmark, Trial, check_distinct, combinations, factor
from .convolutions.shapes import NETWORKS
from .micro_batches.jobs import PYTORCH, MicroBatchJob
from .notes import Notes
from .threads import checked_threads

LIMITS = ("1MiB", "8MiB", "64MiB", "512MiB")


class MicroBatchBenchmark(Benchmark):
    """the time of a training step over limits of workspace: predicted, measured, and which layer chose what"""

    kind: ClassVar[str] = "micro_batch_bench"
    budget_s: ClassVar[float] = 60.0
    least_timeout_s: ClassVar[float] = 600.0
    smaller: ClassVar[str] = "networks, batches or limits"
    fewer_threads: ClassVar[str] = "use --threads 1"

    model: tuple[str, ...] = factor(
        ("alexnet",), f"the networks: {', '.join(NETWORKS)}"
    )
    batch: tuple[int, ...] = factor((16,), "the size of the batch, or several")
    workspace: tuple[str, ...] = factor(
        LIMITS, "the limits of each convolution's workspace", "LIMIT"
    )
    policy: tuple[str, ...] = factor(
        (UNDIVIDED, POWERS), "how a batch may be divided: undivided, powers of two, any"
    )
    convolution: tuple[str, ...] = factor(
        (), "the algorithms of convolutions, as `d5 list convolutions` names them (all)"
    )
    one_budget: bool = factor(
        False,
        "one limit for all convolutions together, which keep their own workspaces",
    )
    threads: int = factor(0, "the threads that compute (one per CPU)")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("model", "batch", "workspace", "policy"):
            check_distinct(f"--{name}", getattr(self, name))
        for name in self.model:
            if name not in NETWORKS:
                raise unknown("network of this benchmark", name, tuple(NETWORKS))
        for batch in self.batch:
            if not 1 <= batch <= 1 << 16:
                raise Deep500Error(f"--batch {batch}: give 1 to 65536")
        for policy in self.policy:
            if policy not in POLICIES:
                raise unknown("policy of micro-batches", policy, POLICIES)
        for name in self.convolution:
            algorithm(name)  # raises for an unknown name
        for limit in self.workspace:
            self._transformation(limit, UNDIVIDED, 1)  # raises for a malformed one
        self._threads()

    @contextmanager
    def prepared(self, notes: Notes) -> Iterator[Self]:
        """Measure the times that plans need, for the largest limit first, which needs most of them."""
        self._jobs(lambda share, text: notes.says(text))
        yield self

    def jobs(self) -> list[MicroBatchJob]:
        return self._jobs(lambda share, text: None)

    def about(self, trials: Sequence[Trial], notes: Notes) -> dict[str, Any]:
        return {
            "threads": self._threads(),
            "inputs": "the same in every call",
            "division": self.one_budget,
        }

    @property
    def busy_threads(self) -> int:
        return self._threads()

    def _jobs(self, progress: Any) -> list[MicroBatchJob]:
        jobs = []
        limits = sorted(self.workspace, key=lambda text: byte_count(text) or 0)
        for levels in combinations(network=self.model, batch=self.batch):
            name, batch = levels["network"], levels["batch"]
            kind, settings = NETWORKS[name]
            network = networks.create(kind, **settings)
            own = []
            for limit in reversed(limits):
                for policy in reversed(self.policy):
                    own.append(self._job(network, name, batch, limit, policy, progress))
            jobs.append(MicroBatchJob(name, batch, "", PYTORCH, self._threads()))
            jobs += reversed(own)
        return jobs

    def _job(
        self,
        network: Any,
        name: str,
        batch: int,
        limit: str,
        policy: str,
        progress: Any,
    ) -> MicroBatchJob:
        transformation = self._transformation(limit, policy, batch)
        try:
            plans = transformation.plans(network, progress)
        except Deep500Error as error:  # a limit that is too small
            levels = (name, batch, limit, policy, self._threads())
            return MicroBatchJob(*levels, refusal=str(error))
        texts = plan_texts(plans)
        workspaces = [each.plan.workspace for each in plans]
        return MicroBatchJob(
            name,
            batch,
            limit,
            policy,
            self._threads(),
            tuple((node, *own) for node, own in texts.items()),
            sum(workspaces) if self.one_budget else max(workspaces),
            total_seconds(plans),
            seconds_again(plans),
        )

    def _transformation(self, limit: str, policy: str, batch: int) -> MicroBatch:
        return MicroBatch(
            limit, policy, self.one_budget, batch, self.convolution, self._threads()
        )

    def _threads(self) -> int:
        return checked_threads(self.threads or None)
