"""The training loop on many ranks: the trainer's own loop, with a scheme's program for every epoch."""

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import zip_longest
from types import MappingProxyType
from typing import Any

import numpy as np

from ..contracts.dataset import Dataset, Split
from ..contracts.executor import Executor, Values
from ..contracts.optimizer import Optimizer
from ..contracts.sampler import Sampler
from ..contracts.scheme import Buffers, Scheme, program_of
from ..contracts.task import Task
from ..contracts.transport import AllGather, Program, Transport, Wait
from ..measure.clock import now
from ..training.checkpoint import Checkpoint
from ..training.checks import check_outputs
from ..training.events import Event
from ..training.sections import procedure_sections
from ..training.trainer import Trainer
from ..transports._fingerprints import check_fingerprints
from .consensus import check_equal_replicas, consensus_distance
from .ensembles import mean_outputs
from .replica import Replica
from .replicas import Replicas
from .shards import bounds, check_ranks, shards
from .statistics import EpochReport, merge_reports
from .two_momenta import warn_of_two_momenta

EVALUATION_DEADLINE = 600.0  # seconds that ranks wait while rank 0 evaluates


class DistributedTrainer(Trainer):
    """Trains one replica for each rank of this process, by a scheme, over a transport.

    `executors` has one for every rank of the transport that is in this process. The sampler draws whole batches, the
    same on all ranks; each rank reads its own rows of them. Rank 0 evaluates what the scheme calls its model.

    The history has what every run has ("loss" is that of the whole batch, "seconds" that of the slowest rank), and for
    every rank r "seconds of rank r" (from batch to batch), "waiting of rank r" (of these, for others), and the counters
    "bytes of rank r" and "messages of rank r", and after every epoch a "consensus distance", measured whatever the
    scheme says of itself.
    """

    def __init__(
        self,
        scheme: Scheme,
        transport: Transport,
        executors: Mapping[int, Executor],
        optimizer: Optimizer,
        *,
        splits: Mapping[str, Split] | Dataset,
        sampler: Sampler,
        epochs: int,
        events: Iterable[Event] | None = None,
        loss: str = "loss",
        task: Task | type[Task] | str | None = None,
        check_replicas: bool = True,
    ):
        lead = min(transport.ranks)
        super().__init__(
            executors[lead],
            optimizer,
            splits=splits,
            sampler=sampler,
            epochs=epochs,
            events=events,
            loss=loss,
            task=task,
        )
        self.scheme = scheme
        self.check_replicas = check_replicas  # after every epoch, if it is synchronous
        self.transport = transport
        self.trainers = scheme.trainers(transport.size)
        scheme.check(transport.size)
        if lead == 0:
            warn_of_two_momenta(scheme, optimizer)
        check_ranks(self.splits["train"], sampler.batch_size, self.trainers)
        self.replicas: dict[int, Replica] = {}
        for rank in transport.ranks:
            executor = self.executor
            if rank != lead:
                executor = self._with_loss(executors[rank])
            self.replicas[rank] = self._replica(rank, executor, optimizer)
        self.lead = self.replicas[lead]
        self.lead.after_step = self._after_step

    def trained_arrays(self) -> dict[str, np.ndarray]:
        """The parameters of the model that was evaluated last."""
        return dict(self._evaluated)

    def run_programs(self, program: Any) -> dict[int, Any]:
        """Run a program on every rank: a function of a worker."""
        return self.transport.run(lambda rank: program_of(program, self.replicas[rank]))

    def _replica(self, rank: int, executor: Executor, optimizer: Optimizer) -> Replica:
        replica = Replica(rank, self.transport.size, executor, optimizer, self.loss)
        waited = self.transport.waited
        replica.clock = partial(self.transport.clock, rank)
        replica.waited = lambda: waited[rank]
        replica.charge = partial(self.transport.charge, rank)
        bound = executor.framework
        if bound.name == "pytorch" and not bound.on_host:
            replica.sends_from_device = self.transport.carries(bound.device)
        return replica

    def _new_procedure(self) -> Replicas:
        predict = self._mean_outputs if self.scheme.averages_predictions else None
        return Replicas(self.replicas, predict)

    def _mean_outputs(self, batch: Mapping[str, Any]) -> Values:
        """What all replicas predict for a batch, averaged; all processes ask for it at the same time."""
        names = self.task.reads()
        outputs = self.run_programs(lambda worker: mean_outputs(worker, batch, names))
        return outputs[self.lead.rank]

    def _begin(self, start: Checkpoint | None) -> None:
        super()._begin(start)
        if start is None:
            self.run_programs(self.scheme.start)

    def _build(self) -> None:
        """Do one step of every size of a rank's part of a batch, without communication, and take it back."""
        begin = now()
        parts = procedure_sections(self.procedure)
        states = {name: _copies(part.state()) for name, part in parts.items()}
        train = self.splits["train"]
        outputs: Values = {}
        for rank, replica in self.replicas.items():
            for rows in self._part_sizes(rank):
                outputs = replica.training_step(train.batch(slice(0, rows)))
        if outputs:
            last = train.batch(slice(0, rows))
            check_outputs(self.procedure, self.splits, self.task, outputs, last)
        self.procedure.framework.sync()
        for name, part in parts.items():
            part.load_state(states[name])
        self.build_seconds = (now() - begin) / 1e9

    def _part_sizes(self, rank: int) -> list[int]:
        """The rows that a rank has of a whole batch, and of the last one of an epoch."""
        if rank not in self.trainers:
            # a server applies gradients, whose memory has to be there
            return [1]
        examples = len(self.splits["train"])
        whole = min(self.sampler.batch_size, examples)
        sizes = []
        for rows in (whole, examples % whole):
            index = self.trainers.index(rank)
            first, stop = bounds(rows, index, len(self.trainers), self._grain)
            if rows:
                sizes.append(max(1, stop - first))
        return [*dict.fromkeys(sizes)]

    def _train(self) -> None:
        """What is left of an epoch, on all ranks of this process."""
        self._step_hooks = self._hooks("after_step")
        self._meet()
        for rank, replica in self.replicas.items():
            replica.begin_epoch(self._shards(rank))
        steps_before = self.steps
        before = {
            rank: traffic.to_json() for rank, traffic in self.transport.traffic.items()
        }
        self.run_programs(self.scheme.epoch)
        called = self.transport.called
        reports = {}
        for rank, replica in self.replicas.items():
            replica.end_epoch()
            traffic = self.transport.traffic[rank]
            reports[rank] = EpochReport.of(
                replica, self._converted, before[rank], traffic
            )
        self._check_collectives(called)
        self._merge(steps_before, reports)
        self.epoch, self.batch = self.epoch + 1, 0

    def _meet(self) -> None:
        """Begin an epoch together: nobody's first step waits for what another rank did between two epochs."""
        if len(self.transport.ranks) < self.transport.size:
            self._gather_json({})

    def _check_collectives(self, called: Sequence[str]) -> None:
        """Refuse an epoch in which ranks called different collectives, which MPI may not notice."""
        if len(self.transport.ranks) == self.transport.size:
            return
        digest = zlib.crc32("\n".join(called).encode())
        digests = self._gather_json({self.lead.rank: digest})
        if len({*digests}) == 1:
            return
        by_rank = self._gather_json({self.lead.rank: [*called]})
        for number, forms in enumerate(zip_longest(*by_rank, fillvalue="none")):
            check_fingerprints(dict(enumerate(forms)), number)

    def _shards(self, rank: int) -> Iterator[Any]:
        if rank not in self.trainers:
            return iter(())
        index, count = self.trainers.index(rank), len(self.trainers)
        train = self.splits["train"]
        return shards(
            train,
            self.sampler,
            self.epoch,
            index,
            count,
            skip=self.batch,
            grain=self._grain,
        )

    @property
    def _grain(self) -> int:
        """The rows that stay on one rank."""
        leaves = self.lead.executor.leaves
        return 1 if leaves is None else leaves.rows

    def _converted(self, value: Any) -> float:
        return float(self.procedure.framework.array(value))

    def _merge(self, steps_before: int, reports: Mapping[int, EpochReport]) -> None:
        """Replace the lead's own numbers of this epoch by those of all ranks."""
        gathered = self._gather_json(
            {r: report.to_json() for r, report in reports.items()}
        )
        all_reports = [EpochReport.from_json(document) for document in gathered]
        for values in self._native_series.values():
            values.clear()
        for name in ("seconds", "data", "batch"):
            del self.series[name][steps_before:]
        merged = merge_reports(all_reports)
        self.counters["samples"] += sum(merged.series["batch"]) - self._counted
        self._counted = 0.0
        for name, numbers in merged.series.items():
            self.series.setdefault(name, []).extend(numbers)
        for name, number in merged.counters.items():
            self.counters[name] = self.counters.get(name, 0) + number
        self.record("consensus distance", self._consensus())

    _evaluated: Mapping[str, np.ndarray] = MappingProxyType({})
    # examples of this epoch that the progress bar has been told of
    _counted = 0.0

    def _after_step(self, replica: Replica, outputs: Values) -> None:
        """The lead's own numbers, for events that look at a run while it goes on."""
        step = replica.steps[-1]
        examples = replica.global_batch_size
        series = self.series
        series["seconds"].append(step.seconds)
        series["data"].append(step.loading)
        series["batch"].append(examples)
        self._native_series["loss"].append(outputs[self.loss])
        self.counters["samples"] += examples
        self._counted += examples
        self.batch += 1
        for hook in self._step_hooks:
            if ending := hook(self, outputs):
                self._end(hook, ending)

    def _consensus(self) -> float:
        checksums = self._gather_json({r: self._checksum(r) for r in self.replicas})
        if len({checksums[rank] for rank in self.trainers}) == 1:
            return 0.0
        distances = self.run_programs(
            lambda worker: consensus_distance(worker, self.trainers)
        )
        distance, length = distances[self.lead.rank]
        if self.check_replicas:
            check_equal_replicas(self.scheme, distance, length)
        return distance

    def _checksum(self, rank: int) -> int:
        """Of a replica's parameters."""
        checksum = 0
        for buffer in self.replicas[rank].params().values():
            checksum = zlib.crc32(
                np.ascontiguousarray(buffer).view(np.uint8).data, checksum
            )
        return checksum

    def _evaluate(self) -> dict[str, Any]:
        record = super()._evaluate()
        self.ended = self._from_rank_0(self.ended)
        return record

    def _qualities(self, split: str) -> dict[str, float]:
        if self.scheme.averages_predictions:
            return self._from_rank_0(super()._qualities(split))
        models = self.run_programs(self.scheme.model)
        qualities: dict[str, float] = {}
        if self.lead.rank == 0:
            with self._loaded(models[0]):
                qualities = super()._qualities(split)
                if split == "test":
                    self._evaluated = self.lead.executor.arrays()
        return self._from_rank_0(qualities)

    @contextmanager
    def _loaded(self, model: Buffers) -> Iterator[None]:
        """The lead's executor with the model's parameters instead of its own."""
        params = self.lead.params()
        copies = {dtype: buffer.copy() for dtype, buffer in params.items()}
        self.lead.set_params(model)
        try:
            yield
        finally:
            self.lead.set_params(copies)

    # Documents between ranks

    def _gather_json(self, documents: Mapping[int, Any]) -> list[Any]:
        """The documents of all ranks."""

        def program(worker: Replica) -> Program:
            text = json.dumps(documents.get(worker.rank)).encode()
            handle = yield AllGather(np.frombuffer(text, np.uint8).copy(), uneven=True)
            [texts] = yield Wait(
                [handle], max(EVALUATION_DEADLINE, self.transport.deadline)
            )
            if worker.rank != self.lead.rank:  # nobody asks for its answer
                return []
            return [json.loads(text.tobytes()) for text in texts]

        return self.run_programs(program)[self.lead.rank]

    def _from_rank_0(self, document: Any) -> Any:
        return self._gather_json({self.lead.rank: document})[0]


def _copies(state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: np.array(value) for name, value in state.items()}
