"""A session of commands: every visit is a new process, run under supervision."""

from collections.abc import Sequence

from ..errors import Deep500Error
from ..supervision.child import Died, Ended, Silent
from ..supervision.commands import CommandRunner, Finished
from .candidates import Command, command_words
from .clock import cold_caches, last_level_bytes
from .plan import PlanEntry
from .session import Visits


class CommandSession:
    """The same calls as Session, for entries that are commands."""

    def __init__(self, entries: Sequence[PlanEntry], cold: bool = False):
        self.entries = entries
        self.flush = cold_caches(last_level_bytes()) if cold else None
        self.runner = CommandRunner()
        self.close = self.runner.close
        self.kill = self.runner.kill

    def calibrate(self) -> list[int]:
        """One call per timed interval, after each command has run once."""
        for entry in self.entries:
            self._time(entry)
        return [1] * len(self.entries)

    def block(
        self, calls: Sequence[int], orders: Sequence[Sequence[int]]
    ) -> Visits:
        """Time the rounds, visit by visit."""
        visits = Visits()
        for order in orders:
            finished = [self._time(self.entries[visit]) for visit in order]
            visits.ns.append([command.elapsed_ns for command in finished])
            visits.cpu_ns.append([command.cpu_ns for command in finished])
        return visits

    def finish(self) -> None:
        """Commands have no teardown."""

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
