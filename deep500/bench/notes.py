"""Where a benchmark says what it is doing, and what its user should know; how long its trials will take."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ..measure.running import Progress

Says = Callable[[str], None]


def say_nothing(text: str) -> None:
    pass


@dataclass(frozen=True)
class Notes:
    """`says` is called with what is being done, `tell` with lines that the user should see."""

    says: Says = say_nothing
    tell: Says = say_nothing


def notes_of(progress: Progress | None, tell: Says | None) -> Notes:
    """Notes that go to a progress line and to the user."""
    if progress is None:
        return Notes(tell=tell or say_nothing)
    line = progress
    return Notes(lambda text: line(0.0, text), tell or say_nothing)


def at_the_end(notes: Notes, progress: Progress | None) -> Notes:
    """The notes on what follows the measurement."""
    if progress is None:
        return notes
    line = progress
    return replace(notes, says=lambda text: line(1.0, text))


@dataclass
class Pace:
    """How long the trials will take; says so once, if they and the starts of processes take longer than the budget."""

    total: int
    groups: int
    budget_s: float
    smaller: str  # what to give fewer of
    tell: Says
    done: int = 0
    any_good: bool = False
    first_s: float = 0.0  # of the first job, which starts its process
    began: float = field(default_factory=time.monotonic)

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self.began

    def step(self, good: bool = True) -> None:
        """One more job was tried; as long as none is good, nothing may be timed, and there is nothing to say."""
        self.done += 1
        self.any_good = self.any_good or good
        if self.done == 1:
            self.first_s = self.elapsed_s
        if self.done < min(2, self.total) or not self.any_good:
            return
        if self.before_s > self.budget_s:
            self.tell(self._warning)
            self.tell = say_nothing

    @property
    def before_s(self) -> float:
        """How long everything takes before the first sample; the processes that time start once more."""
        starts_s = self.groups * self.first_s
        others_s = 0.0
        if self.done > 1:
            others_s = (self.elapsed_s - self.first_s) / (self.done - 1)
        return 2 * starts_s + (self.total - self.groups) * others_s

    @property
    def _warning(self) -> str:
        combinations = "one combination"
        advice = ""
        if self.total > 1:
            combinations = f"{self.total} combinations"
        if self.total > 1 and self.smaller:
            advice = f": fewer {self.smaller} take less"
        seconds = max(1, round(self.before_s))
        return (
            f"to check {combinations} and to start processes takes about {seconds} s beside the budget of "
            f"{self.budget_s:g} s{advice}"
        )
