"""A session of commands: every visit is a new process, run under supervision."""

from collections.abc import Sequence
from functools import partial

from ..errors import Deep500Error
from ..supervision.child import Died, Ended, Silent
from ..supervision.commands import CommandRunner, Finished
from .candidates import Command, command_words
from .clock import cold_caches, last_level_bytes
from .plan import PlanEntry
from .session import Preparation, Visits, all_of
from .warming import Allowance, untimed_visits


class CommandSession:
    """The same calls as Session, for entries that are commands."""

    def __init__(self, entries: Sequence[PlanEntry], cold: bool = False):
        self.entries = entries
        self.flush = cold_caches(last_level_bytes()) if cold else None
        self.visits_ns = [0] * len(entries)
        self.runner = CommandRunner()
        self.close = self.runner.close
        self.kill = self.runner.kill

    def calibrate(self, watched: bool = False) -> list[int]:
        """One call per timed interval, after each command has run once."""
        self.visits_ns = [self._elapsed_ns(entry) for entry in self.entries]
        return [1] * len(self.entries)

    def prepare(
        self, calls: Sequence[int], tolerance: float, seconds: float
    ) -> Preparation:
        """How many untimed runs each command needs; what it leaves behind is ended before the next one."""
        visits = [partial(self._elapsed_ns, entry) for entry in self.entries]
        untimed = [0] * len(visits)
        if not self.flush and len(visits) > 1:
            allowance = Allowance(seconds * 1e9, len(visits))
            for i, visit in enumerate(visits):
                others_ns = sum(self.visits_ns) - self.visits_ns[i]
                untimed[i] = untimed_visits(
                    visit,
                    self.visits_ns[i],
                    all_of(visits[:i] + visits[i + 1 :]),
                    others_ns,
                    tolerance,
                    allowance,
                )
        return Preparation(untimed, [None] * len(visits))

    def _elapsed_ns(self, entry: PlanEntry) -> int:
        return self._time(entry).elapsed_ns

    def block(
        self,
        calls: Sequence[int],
        orders: Sequence[Sequence[int]],
        untimed: Sequence[int] | None = None,
    ) -> Visits:
        """Time the rounds, visit by visit."""
        ns = []
        cpu_ns = []
        untimed_ns = 0
        counts = untimed or [0] * len(self.entries)
        for order in orders:
            finished = []
            for visit in order:
                entry = self.entries[visit]
                for _ in range(counts[visit]):
                    untimed_ns += self._time(entry).elapsed_ns
                finished.append(self._time(entry))
            ns.append([command.elapsed_ns for command in finished])
            cpu_ns.append([command.cpu_ns for command in finished])
        return Visits(ns, cpu_ns, untimed_ns)

    def finish(self) -> None:
        """Commands are not checked again."""

    def _time(self, entry: PlanEntry) -> Finished:
        command = entry.candidate
        assert isinstance(command, Command)  # Plan keeps kinds apart
        text = command.at(entry.levels)
        if self.flush:
            self.flush()
        try:
            finished = self.runner.run(command_words(text), command.timeout_s)
        except Silent:
            raise Deep500Error(
                f"the command {text!r} did not end within {command.timeout_s:g} s: raise --timeout or --budget"
            ) from None
        except Ended as end:
            raise Deep500Error(
                f"the process that ran {text!r} ended {end.how}"
            ) from None
        except Died as death:
            raise Deep500Error(f"the command {text!r}: {death}") from None
        except Deep500Error as error:
            raise Deep500Error(f"the command {text!r} {error}") from None
        if finished.code:
            last = finished.last_line or "no message"
            raise Deep500Error(
                f"the command {text!r} failed with exit code {finished.code}: {last}"
            )
        return finished
