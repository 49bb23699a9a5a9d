"""Before a run: wait until other processes leave the machine alone, and warn if CPUs are lacking."""

import time
from collections.abc import Callable

from ..errors import Deep500Error
from .interference import ROOM
from .moment import Moment
from .sensing.others import allowed_cpus, others_now

QUIET = 0.1  # of the CPUs: others may use as much
LOOK_S = 0.3  # how long others are watched for one look

Progress = Callable[[float, str], None]


def wait_for_quiet(most_s: float, progress: Progress | None = None) -> Moment:
    """Watch others until they use less than QUIET of the CPUs, or for `most_s`; 0 looks once and does not wait."""
    if not 0 <= most_s < 1e9:
        raise Deep500Error(f"--wait-for-quiet {most_s:g}: give seconds, 0 or more")
    began = time.monotonic()
    while True:
        others = others_now(LOOK_S)
        waited = time.monotonic() - began
        if others is None or others < QUIET or waited + LOOK_S > most_s:
            return _moment(others, most_s, waited)
        if progress:
            percent = f"{100 * others:.0f} %"
            progress(waited / most_s, f"waiting: others use {percent} of the CPUs")


def _moment(others: float | None, asked_s: float, waited_s: float) -> Moment:
    if others is not None:
        others = round(others, 4)
    if not asked_s:
        return Moment(others, asked_s, 0.0)
    return Moment(others, asked_s, round(waited_s, 1))


def lack_of_cpus(moment: Moment, threads: int, fewer_threads: str = "") -> str | None:
    """A warning, if others leave fewer CPUs than there will be threads."""
    cpus = len(allowed_cpus())
    used = moment.others or 0.0
    free = cpus * (1 - used)
    if threads <= free + ROOM:
        return None
    subject = "a thread is"
    advice = "wait, or give --wait-for-quiet SECONDS"
    if threads > 1:
        subject = f"{threads} threads are"
        if fewer_threads:
            advice = f"{fewer_threads}, {advice}"
    others = f"others use {100 * used:.0f} % of them"
    return (
        f"{subject} to run on {cpus} CPUs, of which {free:.1f} are free ({others}): "
        f"times will be too long; {advice}"
    )
