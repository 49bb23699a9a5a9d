"""Benchmarks of operators: over problems, dtypes, directions, frameworks and kernels."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Self

from ..check.operators.formats import FORMATS
from ..contracts.result import Record
from ..errors import Deep500Error, Wrong
from ..frameworks import devices_of, framework
from ..measure.bench_blocks import TimedBlock
from ..measure.bench_plan import BenchPlan
from ..measure.bounds.peak_cache import Peaks, peaks_from_json
from ..measure.bounds.roofline import SECONDS as PEAKS_S
from ..measure.bounds.roofline import kept_peaks, peaks, refute_peak
from ..measure.machine.host.files import HostFiles
from ..measure.machine.host.memory import memory_available
from ..measure.numbers import BenchNumbers, RooflineShare
from ..measure.plan import Settings
from .benchmark import Benchmark, Trial, combinations
from .notes import Notes
from .operators.agreement import check_rivals, differing_rivals
from .operators.device_peaks import REDUCED, device_peaks, refute_device_peaks
from .operators.jobs import DIRECTIONS, BenchProblem, OperatorJob
from .operators.truth import shared_truths
from .threads import busy_threads, threads_text


class OperatorBenchmark(Benchmark):
    """Operators under the clock; their results are checked before and after."""

    least_timeout_s: ClassVar[float] = 120.0
    smaller: ClassVar[str] = "shapes, frameworks or kernels"
    fewer_threads: ClassVar[str] = "use --threads 1"

    problems: tuple[BenchProblem, ...]
    dtypes: tuple[str, ...] = ("float32",)
    frameworks: tuple[str, ...] = ("pytorch",)
    kernels: tuple[str, ...] = ("",)
    directions: tuple[str, ...] = ("forward",)
    threads: int = 0  # 0: each framework's choice
    # for a user's operator: a function that computes the same, as FILE:NAME
    reference: str = ""
    scope: str = ""  # of the suite that the problems come from
    cold: bool = False  # caches are emptied before each call

    def __post_init__(self) -> None:
        super().__post_init__()
        for dtype in self.dtypes:
            _check_dtype(dtype)
        # an unknown name is refused before anything runs
        for name in self.frameworks:
            framework(name).dtype(self.dtypes[0])
        if unknown_directions := set(self.directions) - set(DIRECTIONS):
            name = unknown_directions.pop()
            choices = " or ".join(DIRECTIONS)
            raise Deep500Error(f"no direction is named {name!r}: choose {choices}")

    @property
    def busy_threads(self) -> int:
        return busy_threads(self.threads, self.frameworks)

    @property
    def measuring(self) -> Settings:
        return {"cache": "cold"} if self.cold else {}

    @contextmanager
    def prepared(self, notes: Notes) -> Iterator[Self]:
        with shared_truths():
            yield self

    def jobs(self) -> list[OperatorJob]:
        jobs = []
        for levels in combinations(
            framework=self.frameworks,
            problem=self.problems,
            dtype=self.dtypes,
            direction=self.directions,
            kernel=self.kernels,
        ):
            job = OperatorJob(
                **vars(levels.pop("problem")),
                **levels,
                threads=self.threads,
                reference=self.reference,
                cold=self.cold,
            )
            jobs.append(job)
        return jobs

    def check_trials(self, trials: Sequence[Trial]) -> None:
        check_rivals(trials)
        _check_memory(trials)

    def about(self, trials: Sequence[Trial], notes: Notes) -> dict[str, Any]:
        if kept_peaks() is None:
            notes.tell(
                f"the peaks of this machine are measured first, once, which takes about {PEAKS_S:.0f} s"
            )
        notes.says("the peaks of this machine")
        about = {
            "peaks": peaks().to_json(),
            "threads": threads_text(self.threads, self.frameworks),
            "inputs": "the same in every call; overwritten with others for the check after the timing",
        }
        if differing := differing_rivals(trials):
            about["differing"] = differing
        if self.scope:
            about["scope"] = self.scope
        if devices := devices_of(self.frameworks):
            about["devices"] = devices
            about["device_peaks"] = _device_peaks(devices, notes)
        return about

    def finished(
        self, record: Record[BenchPlan, TimedBlock, BenchNumbers], notes: Notes
    ) -> None:
        """Discard stored peaks of the machine that a measurement has exceeded, and tell."""
        numbers = record.derived
        if numbers is None:
            return
        planned_entries = record.plan.entries
        for planned, entry in zip(planned_entries, numbers.entries, strict=True):
            rates = entry.rates
            if not rates or not rates.flops or not _exceeds_peak(rates.roofline):
                continue
            dtype = (planned.work or {})["dtype"]
            rate = rates.flops.value or 0.0
            word = str((planned.work or {})["framework"])
            if word in record.plan.about.device_peaks:
                of_device = peaks_from_json(record.plan.about.device_peaks[word])
                _check_device_peak(entry.name, word, dtype, rate, of_device)
                continue
            if refute_peak(dtype, rate):
                notes.tell(
                    f"{entry.name!r} ran at {rate / 1e9:.3g} GFLOP/s, above the kept peak of {dtype}: the peaks "
                    "will be measured again at their next use"
                )


def _device_peaks(words: Iterable[str], notes: Notes) -> dict[str, Any]:
    """The peaks of each device, as JSON."""
    peaks = {}
    for word in words:
        notes.says(f"the peaks of {word}")
        try:
            peaks[word] = device_peaks(word).to_json()
        except Deep500Error as error:
            notes.tell(f"there is no roofline of {word}: {error}")
    return peaks


def _check_device_peak(
    name: str, word: str, dtype: str, rate: float, found: Peaks
) -> None:
    """Raise `Wrong`, and forget the kept peaks, if an entry computed faster than its device can."""
    counted = (dtype, REDUCED) if dtype == "float32" else (dtype,)
    limits = []
    for name_of_peak, peak in found.flops.items():
        if name_of_peak in counted:
            limits.append(peak.value * (1 + peak.uncertainty))
    if not limits or rate <= max(limits):
        return
    refute_device_peaks(word)
    raise Wrong(
        f"{name!r} is faster than its device: {rate / 1e9:.4g} GFLOP/s, and products of {dtype} reached "
        f"{max(limits) / 1e9:.4g} there at most; if it does all of its work, run it again with new peaks"
    )


def _exceeds_peak(share: RooflineShare | None) -> bool:
    """Whether arithmetic was faster than the peak that was measured."""
    if share is None or share.alarm is None:
        return False
    return share.limited_by == "compute"


def _check_dtype(name: str) -> None:
    if name not in FORMATS:
        raise Deep500Error(
            f"no dtype is named {name!r} here: operators are timed in {', '.join(FORMATS)}"
        )


def _check_memory(trials: Sequence[Trial]) -> None:
    """Raise a Deep500Error if the inputs and outputs of all trials of a framework do not fit into memory at once."""
    bytes_of: Counter[str] = Counter()
    for trial in trials:
        # twice: there are several copies while they are checked
        bytes_of[trial.job.framework] += 2 * trial.result.get("bytes", 0)
    needed = max(bytes_of.values())
    free = memory_available(HostFiles()) * 2**30
    if needed > 0.8 * free:
        needed_gib = needed / 2**30
        free_gib = free / 2**30
        parts = int(needed / (0.4 * free)) + 1
        raise Deep500Error(
            f"these problems need about {needed_gib:.3g} GiB at once, {free_gib:.3g} GiB are "
            f"free: measure them in parts, with --part 1/{parts} and so on"
        )
