"""The metric contract: a number about a training run, with its unit, kind and direction."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

from .. import registry
from ..definition import Definition
from ..errors import Deep500Error, lacking, unknown
from ..measure.statistics.scales import POSITIVE as POSITIVE
from ..measure.statistics.scales import REAL as REAL
from ..measure.statistics.scales import SHARE as SHARE
from ..measure.statistics.scales import Scale
from .task import Quality

Kind = Literal["cost", "rate", "ratio", "count", "quality"]
KINDS = get_args(Kind)


@dataclass(frozen=True)
class History:
    """The record of one training run; a metric reads it and computes nothing on a device."""

    seed: int
    # by name, a number for each step: "loss", "seconds" (of training only), "data" (of these, for its batch), "batch"
    # (its examples), and what a procedure or an event adds
    series: dict[str, list[float]] = field(default_factory=dict)
    # by name: "samples" (examples trained on), "run seconds" and "evaluation seconds", and what an event adds
    counters: dict[str, float] = field(default_factory=dict)
    # after every epoch: "epoch" (from 1), "step", "seconds" (of training), "validation" and "test" (last only; None
    # before), which are the qualities of the task by name
    evaluations: list[dict[str, Any]] = field(default_factory=list)
    # the same between two steps of an epoch, without "test", if the run evaluates there
    within_epochs: list[dict[str, Any]] = field(default_factory=list)
    # the values of metrics that were computed during the run, by name
    recorded: dict[str, float | None] = field(default_factory=dict)
    # why the run stopped before its last epoch; empty if it did not
    ended: str = ""
    # the error that ended it, or that its process was killed; empty if neither
    crashed: str = ""

    @property
    def losses(self) -> list[float]:
        return self.series.get("loss", [])

    @property
    def step_seconds(self) -> list[float]:
        return self.series.get("seconds", [])

    @property
    def steps(self) -> int:
        return len(self.step_seconds)

    @property
    def looks(self) -> list[dict[str, Any]]:
        """Every evaluation on the validation data, within epochs and after them, in order."""
        records = [*self.evaluations, *self.within_epochs]
        return sorted(records, key=lambda record: record["step"])

    @property
    def divergence(self) -> tuple[int, int] | None:
        """The epoch and the step, both from 1, of the first loss that is not finite; None if all are finite."""
        for step, loss in enumerate(self.losses, 1):
            if math.isfinite(loss):
                continue
            before = [record for record in self.evaluations if record["step"] < step]
            return len(before) + 1, step
        return None

    @property
    def failure(self) -> str:
        """Why the run did not get to its planned end; empty if it did."""
        if self.crashed:
            return f"crashed in epoch {len(self.evaluations) + 1}: {self.crashed}"
        if self.divergence:
            epoch, step = self.divergence
            return f"diverged at epoch {epoch}, step {step}"
        if self.ended:
            return f"was stopped in epoch {len(self.evaluations)}: {self.ended}"
        return ""

    @property
    def samples(self) -> float:
        return self.counters.get("samples", 0)

    def final(self, split: Literal["validation", "test"], quality: str) -> float | None:
        """A quality after the last epoch; None if nothing was evaluated, a Deep500Error if there is no such quality."""
        if split not in ("validation", "test"):
            raise unknown("evaluated split", split, ("validation", "test"))
        if not self.evaluations:
            return None
        qualities = self.evaluations[-1][split]
        if not qualities:
            return None
        if quality not in qualities:
            raise unknown("quality", quality, qualities)
        return qualities[quality]


class Metric(Definition):
    """A quantity of a run. `value` is None if the run has none (a target that was never reached)."""

    unit: ClassVar[str] = ""
    kind: ClassVar[Kind] = "quality"
    better: ClassVar[Literal["lower", "higher"] | None] = "higher"
    # the range of its values, in which its intervals lie; None: by its kind and unit, see `usual_scale`
    scale: ClassVar[Scale | None] = None
    # the task's quality that it reads, if any
    reads: ClassVar[str | None] = None
    # why a run may have no value, if that is not a target that was never reached
    absence: ClassVar[str] = ""
    # additional measurements that it needs from a run ("energy")
    needs: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.kind not in KINDS or cls.better not in ("lower", "higher", None):
            kinds = ", ".join(KINDS)
            raise Deep500Error(
                f"{cls.__name__} is of kind {cls.kind!r} and better {cls.better!r}: a kind is "
                f"{kinds}; better is 'lower', 'higher' or None"
            )
        if not isinstance(cls.scale, Scale | None):
            raise Deep500Error(
                f"{cls.__name__} has the scale {cls.scale!r}: give SHARE, POSITIVE, REAL or a Scale"
            )

    def value(self, history: History) -> float | None:
        raise lacking(self, "value")

    def censored_at(self, history: History) -> float | None:
        """For a run that did not reach a target, how far it got; None for metrics without a target."""
        return None

    def not_before(self, history: History) -> float | None:
        """For a run that reached a target, when it was last seen not to have: targets are looked at now and then."""
        return None

    @property
    def has_goal(self) -> bool:
        """Whether its value is what it takes to reach a target."""
        return type(self).censored_at is not Metric.censored_at

    @property
    def value_range(self) -> Scale:
        """The range of its values."""
        return self.scale or usual_scale(self.kind, self.unit)

    def for_qualities(self, qualities: Mapping[str, Quality]) -> "Metric":
        """The metric for runs of a task with these qualities; a Deep500Error if it reads another one."""
        if self.reads is not None:
            quality_named(self.reads, qualities)
        return self

    def __ge__(self, bound: float) -> Any:
        """The claim that the median over seeds is at least this."""
        claim = registry.find("claims", "AtLeast")
        return claim(self, bound)

    def __le__(self, bound: float) -> Any:
        """The claim that the median over seeds is at most this."""
        claim = registry.find("claims", "AtMost")
        return claim(self, bound)

    def meets(self, value: float | None, target: float | None) -> bool:
        """Whether a value is acceptable; without a target any value is."""
        if value is None:
            return False
        if target is None or self.better is None:
            return True
        return _reaches(value, target, self.better)


def usual_scale(kind: Kind, unit: str) -> Scale:
    """The range of a metric that declares none."""
    if unit == "%":
        return SHARE
    if kind == "quality":
        return REAL
    return POSITIVE


def first_reaching(
    history: History, quality: str, target: float, better: str = "higher"
) -> dict[str, Any] | None:
    """The first evaluation whose quality on the validation data reaches the target; None if there is none."""
    for evaluation in history.looks:
        value = evaluation["validation"].get(quality, math.nan)
        if _reaches(value, target, better):
            return evaluation
    return None


def last_before(
    history: History, reached: Mapping[str, Any] | None, key: str
) -> float | None:
    """A number of the evaluation before the one that reached a target; 0 if that was the first, None without one."""
    if reached is None:
        return None
    before = 0.0
    for evaluation in history.looks:
        if evaluation is reached:
            break
        before = float(evaluation[key])
    return before


def _reaches(value: float, target: float, better: str) -> bool:
    if better == "higher":
        return value >= target
    return value <= target


def quality_named(name: str, qualities: Mapping[str, Quality]) -> Quality:
    """A task's quality by its name; a Deep500Error that lists the qualities if there is none of that name."""
    if name not in qualities:
        raise unknown("quality of the task", name, qualities)
    return qualities[name]


def quality_scale(quality: Quality) -> Scale:
    """The range of a task's quality."""
    if quality.low is None and quality.high is None:
        return usual_scale("quality", quality.unit)
    low = -math.inf if quality.low is None else quality.low
    high = math.inf if quality.high is None else quality.high
    return Scale(low, high)
