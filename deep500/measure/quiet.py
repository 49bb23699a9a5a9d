"""Before a run: wait until others leave the machine alone, and say whether there are CPUs for what is asked."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import Deep500Error
from .interference import ROOM
from .sensing.others import allowed_cpus, others_now

QUIET = 0.1  # of the CPUs: others may use as much
LOOK_S = 0.3  # how long others are watched for one look

Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class Moment:
    """What others used just before a run, and how long it waited for that; None where it cannot be known."""

    others: float | None
    asked_s: float
    waited_s: float

    def to_json(self) -> dict[str, Any]:
        return {
            "others": self.others,
            "asked_s": self.asked_s,
            "waited_s": self.waited_s,
        }


def wait_for_quiet(most_s: float, progress: Progress | None = None) -> Moment:
    """Watch others until they use less than QUIET of the CPUs, or for `most_s`; 0 looks once and does not wait."""
    if not 0 <= most_s < 1e9:
        raise Deep500Error(f"--wait-for-quiet {most_s:g}: give seconds, 0 or more")
    began = time.monotonic()
    while True:
        others = others_now(LOOK_S)
        waited = time.monotonic() - began
        if others is None or others < QUIET or waited + LOOK_S > most_s:
            said = None if others is None else round(others, 4)
            return Moment(said, most_s, round(waited, 1) if most_s else 0.0)
        if progress:
            progress(
                waited / most_s, f"waiting: others use {100 * others:.0f} % of the CPUs"
            )


def lack_of_cpus(moment: Moment, threads: int, fewer_threads: str = "") -> str | None:
    """A warning, if others leave fewer CPUs than there will be threads."""
    cpus = len(allowed_cpus())
    free = cpus * (1 - (moment.others or 0.0))
    if threads <= free + ROOM:
        return None
    wanted = f"{threads} threads are" if threads > 1 else "a thread is"
    others = f"others use {100 * (moment.others or 0):.0f} % of them"
    advice = [fewer_threads] if fewer_threads and threads > 1 else []
    advice += ["wait", "or give --wait-for-quiet SECONDS"]
    return (
        f"{wanted} to run on {cpus} CPUs, of which {free:.1f} are free ({others}): "
        f"times will be too long; {', '.join(advice)}"
    )
