"""What a benchmark of a noun defines: its factors, a job for every combination of them, and the subject of a job."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, Self

from ..canonical import in_python, shown
from ..contracts.result import Record
from ..definition import Definition, option
from ..errors import Deep500Error, lacking
from ..measure.candidates import DataCandidate
from ..measure.candidates import Subject as Subject
from ..measure.plan import Plan, Settings
from .notes import Notes

Blocks = Iterator[dict[str, Any]]
# a field of a benchmark with its default, and its help on the command line
factor = option


class Job(Definition, DataCandidate):
    """One line of the result. Its fields are data, from which any process makes the subject."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in self.settings.items():
            object.__setattr__(self, name, _as_data(name, value))

    @property
    def levels(self) -> dict[str, Any]:
        """The factors that entries must have in common to be compared."""
        return {}

    @property
    def group(self) -> str:
        """Jobs of different groups, such as frameworks, never share a process."""
        return ""

    @property
    def place(self) -> tuple[Any, ...]:
        """Jobs of one place stand together in tables."""
        return ()

    @property
    def is_own_code(self) -> bool:
        """Whether a user's code is judged: if it crashes, it is wrong."""
        return False

    @property
    def noun(self) -> str:
        """What is measured, in messages: Relu, resnet.onnx …"""
        return type(self).__name__.removesuffix("Job")

    @property
    def trial_text(self) -> str:
        """What comes next, in messages about a process that dies."""
        return self.text

    def name(self, result: Mapping[str, Any]) -> str:
        """The name of its entry; `result` is that of its trial, which may have failed."""
        return self.text

    def timed(self, facts: Mapping[str, Any]) -> Self:
        """The job as it is timed, after its trial has found out these facts."""
        return self

    def work(self, facts: Mapping[str, Any]) -> Mapping[str, Any]:
        """What one call does: flops, bytes, dtype …"""
        return {}

    def subject(self) -> Any:
        """A `Subject`, made in the process that tries or times it."""
        raise lacking(self, "subject")


@dataclass(frozen=True)
class Trial:
    """A job and the result of trying it once."""

    job: Any
    result: Mapping[str, Any]

    @property
    def state(self) -> str:
        """ok, wrong or unsupported."""
        return str(self.result["state"])

    @property
    def text(self) -> str:
        """Why it cannot be timed."""
        return str(self.result["text"])

    @property
    def name(self) -> str:
        return self.job.name(self.result)


class Benchmark(Definition):
    """The factors of a benchmark: its fields are settings, every combination of them is a job."""

    # the kind of the result
    kind: ClassVar[str] = "bench"
    # whether subjects are timed; else the facts of their trials are the result
    timed: ClassVar[bool] = True
    # seconds of measuring, if the command line gives none
    budget_s: ClassVar[float] = 10.0
    # for one answer of a process; three times the budget if that is longer
    least_timeout_s: ClassVar[float] = 10.0
    # what to give fewer of, if the trials take too long
    smaller: ClassVar[str] = ""
    # what to do if CPUs are lacking
    fewer_threads: ClassVar[str] = ""

    @property
    def measuring(self) -> Settings:
        """Settings of the plan that follow from the factors."""
        return {}

    def jobs(self) -> Sequence[Any]:
        """All jobs. Raises `Deep500Error` for factors that make no sense."""
        raise lacking(self, "jobs")

    @contextmanager
    def prepared(self, notes: Notes) -> Iterator[Self]:
        """This benchmark with the files that its jobs need for as long as it runs."""
        yield self

    def block(self, group: str, trials: Sequence[Trial]) -> dict[str, Any]:
        """The block of a group, if nothing is timed."""
        raise lacking(self, "block")

    def check_trials(self, trials: Sequence[Trial]) -> None:
        """Raise `Deep500Error` if what was tried cannot be measured together."""

    def about(self, trials: Sequence[Trial], notes: Notes) -> dict[str, Any]:
        """What belongs to the plan besides entries: where inputs come from, threads …"""
        return {}

    def more_blocks(self, plan: Plan, budget_s: float, notes: Notes) -> Blocks:
        """Blocks of its kind that follow those of the times."""
        yield from ()

    def finished(self, record: Record, notes: Notes) -> None:
        """Called with the result."""

    @property
    def busy_threads(self) -> int:
        """How many threads compute at once."""
        return 1


def _as_data(name: str, value: Any) -> Any:
    """The value as it comes back from JSON, with tuples for lists; raises a Deep500Error if JSON has no such value."""
    value = in_python(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return tuple(_as_data(name, item) for item in value)
    if isinstance(value, Mapping):
        items = value.items()
        return {str(key): _as_data(str(key), item) for key, item in items}
    raise Deep500Error(
        f"{name} is {shown(value)}, which other processes cannot read: give numbers, texts, or lists of them"
    )


def combinations(**factors: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """Every combination of the factors by name; the last one changes first."""
    for levels in product(*factors.values()):
        yield dict(zip(factors, levels, strict=True))


def check_distinct(option: str, values: Sequence[Any]) -> None:
    """Raise a Deep500Error if a value is given twice."""
    if len(set(values)) < len(values):
        listed = " ".join(map(str, values))
        raise Deep500Error(f"{option} names {listed}: give each once")
