"""The plan and the blocks of an instrumented script.

A stretch of steps:  {"steps": {"first": 1, "seconds": [s …], "examples": [n or null …], "values": {"loss": [v …]},
                     "regions": {"forward": [s …]}, "outside": s, "recording": s}}
An evaluation:       {"evaluation": {"step": n, "split": "validation", "qualities": {"accuracy": v}, "seconds": s,
                     "regions": {"predict": s}}}
The end:             {"end": {"seconds": s, "reason": ""}}: the whole run, and what ended it early

Every list of a stretch has one entry for each step. A value is a number, null where a step gave none, or one of the
texts "nan", "inf" and "-inf". Nested regions have paths such as "train/forward". "outside" are seconds before the
first step of the stretch, "recording" those that writing the stretch before this one took.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from ...errors import Deep500Error
from ...schema import Between, Length, optional

Direction = Literal["higher", "lower"]
Seconds = Annotated[float, Between(0, 1e300)]
NotFinite = Literal["nan", "inf", "-inf"]
RecordedValue = float | NotFinite | None


@dataclass(frozen=True)
class ScriptPlan:
    """What a script said of itself before its first step."""

    name: str
    seed: int | None
    seeded: Sequence[str]
    better: Mapping[str, Direction]
    wait: bool
    settings: Mapping[str, object]


@dataclass(frozen=True)
class Stretch:
    """Steps that were written together."""

    first: int
    seconds: Annotated[Sequence[Seconds], Length(1 << 40, least=1)]
    examples: Sequence[int | None]
    values: Mapping[str, Sequence[RecordedValue]]
    regions: Mapping[str, Sequence[float]]
    outside: float
    recording: float

    def __post_init__(self) -> None:
        lists = {"examples": self.examples, **self.values, **self.regions}
        for name, entries in lists.items():
            if len(entries) != len(self.seconds):
                raise ValueError(f"one entry of {name[:40]!r} for each step")


@dataclass(frozen=True)
class Evaluation:
    """The qualities of one split after a step."""

    step: int
    split: str
    qualities: Mapping[str, RecordedValue]
    seconds: float
    regions: Mapping[str, float]


@dataclass(frozen=True)
class End:
    """How long the whole run took, and what ended it early."""

    seconds: float
    reason: str


@dataclass(frozen=True)
class ScriptBlock:
    """A stretch of steps, an evaluation, or the end of the run."""

    steps: Stretch | None = optional()
    evaluation: Evaluation | None = optional()
    end: End | None = optional()

    def __post_init__(self) -> None:
        contents = [self.steps, self.evaluation, self.end]
        if contents.count(None) != 2:
            raise ValueError("either steps or an evaluation or the end of a run")


def check_order(blocks: Sequence[ScriptBlock]) -> None:
    """Raise a Deep500Error unless the steps are numbered without a gap."""
    done = 0
    for number, block in enumerate(blocks):
        where = f"samples.jsonl: block {number}"
        if block.steps:
            if block.steps.first != done + 1:
                raise Deep500Error(f"{where} does not follow step {done}")
            done += len(block.steps.seconds)
        if block.evaluation and block.evaluation.step != done:
            step = block.evaluation.step
            raise Deep500Error(f"{where} evaluates step {step}, and {done} were done")
