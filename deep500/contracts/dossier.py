"""The dossier: everything that a source declares, as tables of declarations, and the questions behind every field.

A claims file is this document in TOML: `[[number]]`, `[[speedup]]`, …. Bundles and logs are read into the same tables,
so that one set of rules judges all of them. A field that is None was not said.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Literal

from ..schema import Between
from .declaration import Declaration, asked

Year = Annotated[int, Between(1940, 2100)]
Whole = Annotated[int, Between(0, 1 << 62)]
Part = Annotated[float, Between(0, 1 + 1e-12)]
Amount = Annotated[float, Between(0, 1e18)]
Value = Annotated[float, Between(-1e100, 1e100)]  # its square is finite, too
NumberKind = Literal["cost", "rate", "ratio", "count", "quality"]
Split = Literal["training", "validation", "test"]
Summary = Literal[
    "arithmetic mean",
    "harmonic mean",
    "geometric mean",
    "median",
    "quantile",
    "minimum",
    "maximum",
    "total",
    "single value",
]
Checked = Literal[
    "the timed calls", "the timed function, in other calls", "other calls", "nothing"
]
IntervalBasis = Literal["ranks", "bootstrap", "normal distribution", "not an interval"]
Texts = Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Publication(Declaration):
    """What is audited."""

    year: Year | None = asked("the year in which it appeared", 2018)
    url: str | None = asked("where it can be read", "https://example.org/paper.pdf")


@dataclass(frozen=True, kw_only=True)
class SystemDescription(Declaration):
    """A machine with its software, as far as the numbers depend on it."""

    role: Literal["ours", "baseline"] | None = asked(
        "is it what the paper proposes, or what it is compared with", "ours"
    )
    device: str | None = asked("the processor or accelerator", "NVIDIA V100")
    year: Year | None = asked("the year in which the device was launched", 2017)
    software_year: Year | None = asked("the year of its software's release", 2018)
    normalised: str | None = asked(
        "what numbers were also divided by: W, $, share of peak", "W"
    )
    processors: Whole | None = asked("how many processors the system has", 512)
    processors_used: Whole | None = asked("how many of them were used", 512)
    reason: str | None = asked("why only a part was used", "the batch was too small")


@dataclass(frozen=True, kw_only=True)
class SetupDescription(Declaration):
    """The nine classes of SC'15's checklist, each in a sentence."""

    processor: str | None = asked("model of processor and accelerator", "EPYC 7742")
    memory: str | None = asked("size and type of the memory", "256 GiB DDR4-3200")
    network: str | None = asked("network and its card", "Slingshot, 200 Gb/s")
    compiler: str | None = asked("compiler with version and flags", "GCC 12, -O3")
    runtime: str | None = asked("kernel and libraries with versions", "Linux 6.1")
    storage: str | None = asked("file system and storage", "Lustre, 30 OSTs")
    inputs: str | None = asked("software and inputs that were measured", "ImageNet")
    measurement: str | None = asked("how it was measured", "rdtsc, warm caches")
    source: str | None = asked("where the source code is", "github.com/a/b@1a2b3c4")


@dataclass(frozen=True, kw_only=True)
class MeasurementConduct(Declaration):
    """How the measurement went."""

    complete: bool | None = asked("did it run to its planned end", True)
    contradictions: Texts | None = asked("what the data say against themselves", [])
    failures: Texts | None = asked("parts of it that ended with an error", [])
    remarks: Texts | None = asked("what is unusual in them", [])
    load: Part | None = asked("share of the machine that others used meanwhile", 0.01)
    control_low: float | None = asked(
        "the same code against itself: lower end of the ratio", 0.995
    )
    control_high: float | None = asked("and its upper end", 1.004)
    clock_ratio: float | None = asked(
        "time by the benchmark's clock per time by another clock of the same span", 1.0
    )
    started_first: Texts | None = asked(
        "code that ran before the benchmark, such as sitecustomize", []
    )
    runs: Whole | None = asked("how many runs were made in all", 3)
    runs_reported: Whole | None = asked("how many of them are reported", 3)
    method: str | None = asked("version of the method, equal where comparable", "v1")
    subject: str | None = asked("what is measured; of a series it is the same", "GEMM")


@dataclass(frozen=True, kw_only=True)
class ReportedNumber(Declaration):
    """A number of a table, a plot or the text."""

    system: str | None = asked("the system that it is about", "ours")
    kind: NumberKind | None = asked(
        "cost (s, J), rate (per s), ratio, count or quality (accuracy, loss)", "cost"
    )
    value: float | None = asked("the number", 12.3)
    unit: str | None = asked("its unit", "ms")
    n: Whole | None = asked("how many values it summarises", 30)
    deterministic: bool | None = asked("is it the same in every run", False)
    raw_values: Sequence[Value] | None = asked(
        "the values themselves, one per run, if they are published", [12.2, 12.4]
    )
    low: float | None = asked("lower end of its confidence interval", 12.1)
    high: float | None = asked("upper end", 12.6)
    level: Part | None = asked("confidence level", 0.95)
    interval: IntervalBasis | None = asked("what the interval stands on", "ranks")
    normality: str | None = asked(
        "if on the normal distribution: how that was checked, or “assumed”",
        "Shapiro-Wilk and Q-Q",
    )
    refused: str | None = asked("if it has no interval: the reason that is given", "…")
    summary: Summary | None = asked("how the values became one number", "median")
    equal_work: bool | None = asked("of a mean of rates: had all the same work", True)
    summary_reason: str | None = asked("of a geometric mean: why it was taken", "…")
    latency: bool | None = asked("is it a latency, whose tail matters", False)
    quantiles: Sequence[float] | None = asked("the quantiles that are shown", [0.99])
    modes: Whole | None = asked("how many modes the values have", 1)
    ranks: Whole | None = asked("over how many processes it was measured", 1)
    synchronised: str | None = asked("how they started together", "window, 1 us")
    across_ranks: str | None = asked("how their times became one", "maximum")
    windows: Literal["common", "own"] | None = asked(
        "of a sum of rates over processes: in one common window, or each in its own",
        "common",
    )
    arrival: Literal["excluded", "included", "not known"] | None = asked(
        "of a collective: is waiting for late processes included", "excluded"
    )
    split: Split | None = asked("of a quality: the data it was computed on", "test")
    precision: str | None = asked("of operations: their precision", "float32")
    sparse: bool | None = asked("of operations: are skipped zeros counted", False)
    operations: float | None = asked("of a rate: operations until the result", 3.1e18)
    scope: Literal["kernel", "application"] | None = asked(
        "is it a kernel (layer, part of a step) or the whole", "application"
    )
    share: Part | None = asked("of a kernel: its share of the whole's time", 0.4)
    includes: Texts | None = asked(
        "of a time or rate of training: what the clock includes",
        ["input", "evaluation", "checkpoints"],
    )
    excludes: Texts | None = asked("what it leaves out", ["start-up"])
    options: str | None = asked("a name for the settings it was measured with", "A")
    bound: float | None = asked("an upper bound of a rate (lower, of a cost)", 15.7)
    bound_name: str | None = asked("what the bound is", "measured peak, float32")
    bound_reason: str | None = asked("if none is given: the reason", "…")
    bound_precision: str | None = asked("precision of the bound", "float32")
    bound_sparse: bool | None = asked("is it the bound for sparse operands", False)
    bound_soft: bool | None = asked(
        "may it be exceeded, as that of memory by data in a cache", False
    )
    inputs: Literal["fresh in every call", "the same in every call"] | None = asked(
        "of a kernel: its inputs", "fresh in every call"
    )
    checked: Checked | None = asked(
        "of a kernel: whose outputs were checked", "the timed calls"
    )
    fresh_inputs_checked: bool | None = asked(
        "of a kernel with the same inputs: was it checked with others afterwards", True
    )
    after_clock: float | None = asked(
        "CPU time after the clock had stopped, per timed time", 0.0
    )
    timed_calls: Whole | None = asked("how many calls were timed together", 1)


@dataclass(frozen=True, kw_only=True)
class ReportedSpeedup(Declaration):
    """A ratio of times or rates: “4.2 × faster”."""

    value: float | None = asked("the ratio", 4.2)
    base: str | None = asked("what it is relative to", "cuDNN 7.1")
    base_kind: Literal["one process", "best serial", "another system"] | None = asked(
        "what the base is", "best serial"
    )
    base_value: float | None = asked("time or rate of the base", 31.0)
    base_unit: str | None = asked("its unit", "s")
    processes: Whole | None = asked("of a parallel speed-up: on how many", 64)
    n: Whole | None = asked("how many values it stands on", 30)
    low: float | None = asked("lower end of its confidence interval", 4.1)
    high: float | None = asked("upper end", 4.4)
    averaged: Whole | None = asked("if it is a mean of ratios: of how many", 1)
    summary: Summary | None = asked("and which mean", "geometric mean")
    summary_reason: str | None = asked("and why the times could not be averaged", "…")
    scope: Literal["kernel", "application"] | None = asked(
        "of a kernel or of the whole", "application"
    )
    share: Part | None = asked("of a kernel: its share of the whole's time", 0.4)
    of_medians: float | None = asked("the ratio of the medians", 4.2)
    of_means: float | None = asked("the ratio of the means", 4.2)
    verdict: str | None = asked("what is concluded: faster, slower, same, …", "faster")


@dataclass(frozen=True, kw_only=True)
class ComparisonClaim(Declaration):
    """“A is better than B”."""

    ours: str | None = asked("the system that is said to be better", "ours")
    other: str | None = asked("the one it is compared with", "baseline")
    method: str | None = asked("how it was decided", "95 % intervals do not overlap")
    time: bool | None = asked("are the times of both given", True)
    quality: bool | None = asked("are the qualities of both given", True)
    trained: bool | None = asked("is it about training or a trained model", True)
    tuning_ours: Whole | None = asked("runs to tune ours", 20)
    tuning_other: Whole | None = asked("runs to tune the other", 20)


@dataclass(frozen=True, kw_only=True)
class ScalingPoint(Declaration):
    """One point of a series over the number of processors, or any other factor."""

    series: str | None = asked("the series to which it belongs", "ResNet-50")
    processes: Whole | None = asked("on how many", 64)
    seconds: float | None = asked("how long it ran", 120.0)
    samples: float | None = asked("how many examples it processed", 1.2e6)
    throughput: float | None = asked("examples per second", 10000.0)
    quality: float | None = asked("accuracy or loss that it reached at its end", 76.1)
    quality_lost: bool | None = asked("did the training diverge there", False)
    global_batch: Whole | None = asked("examples per update, all processes", 2048)
    scaling: Literal["strong", "weak"] | None = asked("what it is called", "strong")
    steps_to_target: Whole | None = asked("updates until the target quality", 56000)
    seconds_to_target: float | None = asked("time until the target quality", 3600.0)
    target_asked: bool | None = asked("was a target set, reached or not", True)
    method: str | None = asked("a name for the way it was measured", "v1")


@dataclass(frozen=True, kw_only=True)
class TrainingReport(Declaration):
    """How the model was trained, chosen and judged."""

    seeds: Whole | None = asked("how many seeds are reported", 5)
    seeds_planned: Whole | None = asked("how many were planned", 5)
    seeds_lost: Whole | None = asked("how many diverged, crashed or were stopped", 0)
    seeds_lost_said: bool | None = asked("are these counted in the numbers", True)
    chosen: str | None = asked("how the reported run was chosen", "all are reported")
    tuning_runs: Whole | None = asked("runs that were needed to tune it", 40)
    tuning_known: bool | None = asked("can the number be known at all", True)
    subject: str | None = asked(
        "what is learnt: all that learn it have one target", "ImageNet, ResNet-50"
    )
    target: float | None = asked("the quality that counts as reached", 75.9)
    target_set: Literal["before", "after"] | None = asked(
        "was the target set before or after the runs", "before"
    )
    test_used_for: Texts | None = asked("what test data was used for", ["reporting"])
    overlap: Whole | None = asked("test examples that are in the training data", 0)
    input: Literal["from storage", "from memory", "synthetic"] | None = asked(
        "where the examples came from while it was timed", "from storage"
    )
    example_size: float | None = asked("values per example, as trained", 150528.0)
    dataset_size: float | None = asked("values per example, in the data set", 150528.0)
    smaller_size: str | None = asked("what a smaller input gives", "same accuracy")
    evaluation_share: float | None = asked(
        "CPU time of evaluating an example per CPU time of training with one", 0.35
    )
    timed_share: float | None = asked("timed steps per CPU time of training", 1.0)
    waits_timed: bool | None = asked(
        "do the timed steps include waiting for data", True
    )


@dataclass(frozen=True, kw_only=True)
class ConvergenceRecord(Declaration):
    """How much training runs with one batch size needed until the target: of ours, or of a reference."""

    subject: str | None = asked(
        "what is trained; ours and its reference have the same", "ResNet-50"
    )
    role: Literal["ours", "reference"] | None = asked(
        "is it ours, or the reference that ours must not beat", "ours"
    )
    global_batch: Whole | None = asked("examples per update, all processes", 4096)
    unit: Literal["epochs", "steps", "samples"] | None = asked(
        "what is counted, the same for both", "epochs"
    )
    needed: Sequence[Amount] | None = asked(
        "how many of them each run needed until the target", [41.0, 40.0, 42.0]
    )
    lost: Whole | None = asked("how many more runs never reached it", 0)
    dropped: Whole | None = asked(
        "how many of the fastest, and of the slowest, the mean leaves out", 1
    )


@dataclass(frozen=True, kw_only=True)
class SuiteReport(Declaration):
    """A set of benchmarks, problems or applications, and those of them that are shown."""

    members: Whole | None = asked("how many there are", 25)
    shown: Whole | None = asked("how many are shown", 25)
    reason: str | None = asked("why the others are not", "…")


@dataclass(frozen=True, kw_only=True)
class ReportedPlot(Declaration):
    """A plot."""

    lines: bool | None = asked("does it connect points by lines", False)
    interpolation: bool | None = asked("may one read values between them", False)
    intervals: Literal["drawn", "stated", "none"] | None = asked(
        "are intervals drawn, or stated to be smaller than something", "drawn"
    )


@dataclass(frozen=True)
class Dossier:
    """All declarations of one or several sources; a table is named as in a claims file."""

    paper: Sequence[Publication] = ()
    system: Sequence[SystemDescription] = ()
    setup: Sequence[SetupDescription] = ()
    measurement: Sequence[MeasurementConduct] = ()
    number: Sequence[ReportedNumber] = ()
    speedup: Sequence[ReportedSpeedup] = ()
    comparison: Sequence[ComparisonClaim] = ()
    point: Sequence[ScalingPoint] = ()
    training: Sequence[TrainingReport] = ()
    convergence: Sequence[ConvergenceRecord] = ()
    suite: Sequence[SuiteReport] = ()
    plot: Sequence[ReportedPlot] = ()

    def numbers(self, *kinds: NumberKind) -> list[ReportedNumber]:
        """The numbers of these kinds."""
        return [number for number in self.number if number.kind in kinds]

    def series(self) -> dict[str, list[ScalingPoint]]:
        """The points of every series of at least two, by the number of processes."""
        by_name: dict[str, list[ScalingPoint]] = {}
        for point in self.point:
            by_name.setdefault(point.series or "", []).append(point)
        ordered = {}
        for name, points in by_name.items():
            if len(points) > 1:
                ordered[name] = sorted(points, key=lambda point: point.processes or 0)
        return ordered

    def scaling(self) -> list[list[ScalingPoint]]:
        """The points of every series over at least two different numbers of processes."""
        found = []
        for points in self.series().values():
            if points[0].processes != points[-1].processes:
                found.append(points)
        return found


def merged(dossiers: Sequence[Dossier]) -> Dossier:
    """The declarations of several sources in one dossier."""
    whole = Dossier()
    for dossier in dossiers:
        for table in fields(Dossier):
            declarations = [*getattr(whole, table.name), *getattr(dossier, table.name)]
            whole = replace(whole, **{table.name: declarations})
    return whole
