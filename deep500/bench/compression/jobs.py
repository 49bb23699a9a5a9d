"""The three kinds of jobs of a benchmark of compression: times on slow networks, accuracy, and traffic."""

from collections.abc import Sequence
from typing import Any

from ...contracts.fitted_loggp import machine_name
from ...contracts.loggp import LogGP
from ...definition_text import scheme_of
from ...errors import Deep500Error, one_line
from ...measure.sensing.others import Others, allowed_cpus
from ...results.compression.data import (
    Accuracy,
    CompressionBlock,
    MethodTimes,
    MethodTraffic,
    RankTraffic,
    Times,
)
from ...schema import encoded
from ..benchmark import Job, Subject
from ..ranks import launched_results
from .documents import MethodOnRank, RankMethods, StepsRequest

RANK = "deep500.bench.compression.rank"
# each rank goes into its namespace, where it finds the others by the address of rank 0
ENTER = """
names=$1; address=$2; interface=$3; shift 3
name=$(echo "$names" | cut -d, -f$((RANK + 1)))
exec ip netns exec "$name" env MASTER_ADDR="$address" GLOO_SOCKET_IFNAME="$interface" "$@"
"""
DEADLINE = 300.0
# ranks for which the traffic of a step is found
COUNTS = (2, 4, 8, 16, 32)


class CompressionJob(Job):
    """What all of them share."""

    methods: tuple[str, ...]
    hidden: tuple[int, ...]
    batch: int
    ranks: int
    seed: int

    @property
    def group(self) -> str:
        return self.text

    def subject(self) -> "CompressionSubject":
        return CompressionSubject(self)

    def block(self, **parts: Any) -> CompressionBlock:
        return CompressionBlock(self.text, machine_name(), len(allowed_cpus()), **parts)

    def measured(self) -> CompressionBlock:
        """The block of this job."""
        raise NotImplementedError


class CompressionSubject(Subject):
    """The block is the result; nothing else is timed."""

    def __init__(self, job: CompressionJob):
        self.job = job

    def check(self) -> None:
        """Results of codecs are checked by `d5 check codec`."""

    def facts(self) -> dict[str, Any]:
        return {"block": encoded(self.job.measured())}


class TimesJob(CompressionJob):
    """A launch of ranks in namespaces; with `isolated` False they are not, and the network has no limit."""

    bandwidth: float
    launch: int
    steps: int
    seconds: float
    isolated: bool

    @property
    def text(self) -> str:
        rate = f"{self.bandwidth:g} Mbit/s" if self.bandwidth else "no limit"
        place = "" if self.isolated else ", without namespaces"
        return f"{self.ranks} ranks, {rate}{place}, launch {self.launch}"

    def measured(self) -> CompressionBlock:
        others = Others()
        good, refused = runnable(self)
        if self.isolated:
            from .namespaces import namespaces

            with namespaces(self.ranks, self.bandwidth) as places:
                names = ",".join(place.name for place in places)
                first = places[0]
                enter = ["sh", "-c", ENTER, "rank", names, first.address]
                results = self._launched(good, [*enter, first.interface], "eth0")
        else:
            results = self._launched(good, [], "")
        rows = [merged(own) for own in zip(*(r.rows for r in results), strict=True)]
        times = Times(
            self.bandwidth,
            self.launch,
            others.share(),
            self.isolated,
            results[0].latency,
            results[0].gap,
            [*rows, *refused],
        )
        return self.block(times=times)

    def _launched(
        self, methods: Sequence[str], enter: Sequence[str], interface: str
    ) -> list[RankMethods]:
        request = StepsRequest(
            methods,
            self.hidden,
            self.batch,
            self.steps,
            self.seconds,
            self.seed,
            DEADLINE,
            interface,
            self.bandwidth,
        )
        return launched_results(RANK, request, RankMethods, self.ranks, "torch", enter)


def runnable(job: CompressionJob) -> tuple[list[str], list[MethodTimes]]:
    """The schemes that do a step on so many virtual ranks, and the others with why they do not."""
    from .training import recipe_of, virtual_seconds

    good, refused = [], []
    for method in job.methods:
        recipe = recipe_of(method, job.hidden, job.batch)
        try:
            virtual_seconds(recipe, method, job.ranks, LogGP(), job.seed)
        except Deep500Error as error:
            refused.append(MethodTimes(method, [], [], failure=one_line(error)))
        else:
            good.append(method)
    return good, refused


def merged(rows: Sequence[MethodOnRank]) -> MethodTimes:
    """A scheme's stretches: seconds of every rank, and bytes of the rank that sends most."""
    seconds = zip(*(row.seconds for row in rows), strict=True)
    counted = zip(*(row.counted for row in rows), strict=True)
    wire = zip(*(row.wire for row in rows), strict=True)
    wires = [max(stretch) for stretch in wire]
    return MethodTimes(
        rows[0].method,
        [list(stretch) for stretch in seconds],
        [max(stretch) for stretch in counted],
        wires or None,
    )


class AccuracyJob(CompressionJob):
    """One seed of one scheme on virtual ranks, which train with the bits of real ones."""

    epochs: int

    @property
    def text(self) -> str:
        return f"accuracy of {self.methods[0]}, seed {self.seed}"

    def measured(self) -> CompressionBlock:
        from ...distributed.simulation import simulate
        from .training import recipe_of

        [method] = self.methods
        recipe = recipe_of(method, self.hidden, self.batch, self.epochs)
        scheme = scheme_of(method)
        try:
            done = simulate(
                scheme, recipe, self.ranks, seed=self.seed, epochs=self.epochs
            )
        except Deep500Error as error:
            failed = Accuracy(method, self.seed, 1, [], None, one_line(error))
            return self.block(accuracy=failed)
        assert done.history is not None
        evaluations = done.history.evaluations
        accuracies = [one["validation"]["accuracy"] for one in evaluations]
        steps = max(1, done.history.steps // self.epochs)
        test = done.history.final("test", "accuracy")
        found = Accuracy(method, self.seed, steps, accuracies, test)
        return self.block(accuracy=found)


class TrafficJob(CompressionJob):
    """What the communication of a step consists of, by number of ranks."""

    @property
    def text(self) -> str:
        return f"traffic of {self.methods[0]}"

    def measured(self) -> CompressionBlock:
        from .training import recipe_of, virtual_seconds

        [method] = self.methods
        # a rank needs at least an example
        recipe = recipe_of(method, self.hidden, max(self.batch, *COUNTS))
        only_latency = LogGP(1.0, 0.0, 0.0, 0.0)
        only_bytes = LogGP(0.0, 0.0, 0.0, 1.0)
        by_ranks: list[RankTraffic] = []
        for ranks in sorted({*COUNTS, self.ranks}):
            try:
                latencies = virtual_seconds(
                    recipe, method, ranks, only_latency, self.seed
                )
                nbytes = virtual_seconds(recipe, method, ranks, only_bytes, self.seed)
            except Deep500Error as error:
                failure = one_line(error)
                return self.block(traffic=MethodTraffic(method, by_ranks, failure))
            by_ranks.append(RankTraffic(ranks, latencies, nbytes))
        return self.block(traffic=MethodTraffic(method, by_ranks))
