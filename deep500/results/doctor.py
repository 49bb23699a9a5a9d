"""What `d5 doctor` saw: the machine, its noise, what is installed, and what to fix."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..bundle.dates import Dates
from ..contracts.result import (
    Record,
    ResultKind,
    derived_document,
)
from ..errors import Refused
from ..measure.bench_blocks import TimedBlock, check_blocks
from ..measure.bench_plan import BenchPlan
from ..measure.clock import Clock
from ..measure.machine import Environment
from ..measure.results import Result
from ..reports.blocks import Block, Bullets, Problems, Report, Section, Table
from ..reports.surroundings import facts_of, raw_data
from ..reports.tables import NOTHING, is_number, percent, ratio, seconds
from ..reports.text import Text, clean, plain
from .benching.contradictions import bench_contradictions

FACTS_SHOWN = (
    ("hardware compute", "cpu model"),
    ("benchmark measurement setup", "usable cpus"),
    ("hardware compute", "hypervisor"),
    ("hardware compute", "frequency governor"),
    ("hardware memory", "memory size (GiB)"),
    ("software runtime", "kernel"),
    ("software runtime", "python"),
    ("software runtime", "blas of numpy"),
    ("software compiler", "c++ compiler"),
)
EXTRAS = {  # the extra of Deep500 that installs a framework
    "jax": "jax",
    "mpi": "mpi",
    "onnxruntime": "onnx",
    "pytorch": "pytorch",
    "tensorflow": "tensorflow",
}
LARGE_SPREAD = 0.1
FIT = "nothing: this machine is fit for measuring"


@dataclass(frozen=True)
class MachineNoise:
    """The same statement against itself: what this machine adds to every number."""

    n: int
    median_s: float
    spread: float  # (p75 - p25) / median of single calls
    # The standard deviation of the medians of processes, divided by the median.
    between_processes: float | None
    ratio: float | None
    low: float | None
    high: float | None
    verdict: str


@dataclass(frozen=True)
class Diagnosis:
    """The noise of this machine, and what to fix."""

    noise: MachineNoise
    advice: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class DoctorPlan(BenchPlan):
    """A benchmark of one statement against itself, what is installed, and what to fix."""

    clock: Clock
    installed: Mapping[str, str | None]
    advice: Sequence[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.names != ["a", "b"]:
            raise ValueError("a measurement of noise between the entries a and b")


DoctorRecord = Record[DoctorPlan, TimedBlock, Diagnosis]


class Doctor(ResultKind[DoctorPlan, TimedBlock, Diagnosis]):
    """Blocks of a benchmark of one statement against itself; the noise follows from them."""

    measurement = False

    def check_blocks(
        self, plan: DoctorPlan, blocks: Sequence[object]
    ) -> list[TimedBlock]:
        return check_blocks(plan, blocks)

    def derive(
        self, plan: DoctorPlan, blocks: Sequence[TimedBlock]
    ) -> Diagnosis | None:
        if not blocks:
            return None
        noise = measure_noise(Result(plan, list(blocks)))
        return Diagnosis(noise, [*plan.advice, *_noise_advice(noise)])

    def report(self, record: DoctorRecord) -> Report:
        plan = record.plan
        known = record.derived.advice if record.derived else plan.advice
        advice = [clean(line) for line in known]
        blocks = [
            Section("This machine", [_machine(record)]),
            *_noise_section(record.derived),
            Section("Installed", [_installed(plan.installed)]),
            Section("Sensors", [_sensors(record.sensors or {})]),
            Section("What to fix", [Bullets(advice or [FIT])]),
            raw_data(record.bundle, record.hash),
        ]
        return Report("Deep500 doctor", "This machine", blocks)

    def contradictions(self, record: DoctorRecord, dates: Dates) -> Iterable[str]:
        return bench_contradictions(record, record.blocks, dates)

    def numbers(self, record: DoctorRecord) -> dict[str, object]:
        """Everything the doctor saw, as data."""
        noise = derived_document(self, record.derived) if record.derived else {}
        environment = Environment.from_json(record.environment)
        return {
            "environment": environment.to_json(),
            "completeness": environment.completeness.fraction,
            "clock": record.plan.clock,
            "installed": record.plan.installed,
            "sensors": record.sensors,
            **noise,
        }


def measure_noise(result: Result) -> MachineNoise:
    """The noise of the machine, from samples of a statement against itself."""
    samples = [process.seconds[0] for process in result.processes]
    low, median, high = np.quantile(np.concatenate(samples), [0.25, 0.5, 0.75])
    process_medians = [float(np.median(values)) for values in samples]
    between = None
    if len(process_medians) > 1:
        deviation = np.std(process_medians, ddof=1)
        between = float(deviation / median)
    noise = MachineNoise(
        n=sum(map(len, samples)),
        median_s=float(median),
        spread=float((high - low) / median),
        between_processes=between,
        ratio=None,
        low=None,
        high=None,
        verdict="inconclusive",
    )
    try:
        null = result.compare("a", "b")
    except Refused:
        return noise
    return replace(
        noise,
        ratio=null.ratio,
        low=null.low,
        high=null.high,
        verdict=null.verdict,
    )


def _noise_advice(noise: MachineNoise) -> list[str]:
    advice = []
    if noise.ratio is not None and noise.verdict in ("slower", "faster"):
        advice.append(
            f"the same code differs from itself by {noise.ratio:.3f} ×: raise --margin, or quieten "
            "the machine"
        )
    if noise.spread > LARGE_SPREAD:
        advice.append(
            f"single calls spread by {noise.spread:.0%}: close other programs, or give a larger "
            "--budget"
        )
    return advice


def _machine(record: DoctorRecord) -> Table:
    environment = Environment.from_json(record.environment)
    rows = []
    for group, name in FACTS_SHOWN:
        fact = environment.fact(group, name)
        rows.append([name, clean(fact)])
    rows.append(["clock", _clock(record.plan.clock)])
    complete = environment.completeness
    share = percent(complete.fraction)
    facts = f"{complete.known} of {complete.total} facts ({share})"
    rows.append(["environment known", facts])
    return Table(["fact", "value"], rows)


def _clock(clock: Clock) -> str:
    name = clean(clock.name)
    return f"{name}: reading it costs {clock.overhead_ns} ns, it steps by {clock.resolution_ns} ns"


def _noise_section(diagnosis: Diagnosis | None) -> list[Block]:
    if diagnosis is None:
        return [Problems(["unfinished: no noise was measured before it ended"])]
    noise = diagnosis.noise
    compared = ratio(noise.ratio, noise.low, noise.high, noise.n)
    against_itself = [compared, f": {noise.verdict}"]
    rows: list[list[Text]] = [
        ["single calls, p25 to p75", _share(noise.spread)],
        ["between processes, sd", _share(noise.between_processes)],
        ["the same code against itself", against_itself],
    ]
    call = seconds(noise.median_s)
    title = f"Noise (a call of {call}, n = {noise.n})"
    return [Section(title, [Table(["what", "how much"], rows)])]


def _share(value: object) -> str:
    if not is_number(value) or not math.isfinite(value):
        return NOTHING
    return percent(value)


def _installed(installed: Mapping[str, object]) -> Table:
    rows = []
    for name, version in installed.items():
        state = plain(version) if version else _missing(name)
        rows.append([clean(name), state])
    return Table(["framework", "version"], rows)


def _missing(name: str) -> str:
    """That a framework is not installed, and the command that installs it."""
    if name not in EXTRAS:
        return "not installed"
    return f"not installed: pip install 'deep500-bench[{EXTRAS[name]}]'"


def _sensors(readings: Mapping[str, object]) -> Table:
    rows = []
    for name, _, source, reason in facts_of(readings):
        available = f"unavailable: {reason}" if reason else "yes"
        rows.append([name, available, source or NOTHING])
    return Table(["sensor", "available", "source"], rows, "ltt")
