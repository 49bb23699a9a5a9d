"""Tries every job once before anything is timed, in processes of its group: it can be timed, or there is a reason."""

import signal
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..errors import (
    Deep500Error,
    InternalError,
    Wrong,
    raise_if_mistake,
    with_place,
)
from ..measure.candidates import candidate_from_json
from ..supervision.child import Ended
from ..supervision.isolation import Died, isolated_each
from ..supervision.serving import Progress
from .benchmark import Job, Trial
from .notes import Notes

ATTEMPT = f"{__name__}:attempt"
CRASHES = {
    signal.SIGSEGV,
    signal.SIGBUS,
    signal.SIGILL,
    signal.SIGFPE,
    signal.SIGABRT,
}


def trials(jobs: Sequence[Job], timeout_s: float, notes: Notes) -> Iterator[Trial]:
    """Try the jobs of each group in a process of its own."""
    for group in dict.fromkeys(job.group for job in jobs):
        own_jobs = [job for job in jobs if job.group == group]
        where = f" on {group}" if group else ""
        notes.says(f"checking {len(own_jobs)}{where}")
        calls = [{"job": job.to_json()} for job in own_jobs]
        results = isolated_each(ATTEMPT, calls, timeout_s)
        for job, result in zip(own_jobs, results, strict=True):
            if isinstance(result, Died):
                result = _death(job, result)
            yield Trial(job, result)


def attempt(job: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """The result of trying a job; called in a child process."""
    candidate = candidate_from_json(job)
    assert isinstance(candidate, Job)
    progress(candidate.trial_text)
    try:
        subject = candidate.checked_subject()
        return {"state": "ok", **subject.facts()}
    except Wrong as error:
        return {"state": "wrong", "text": str(error)}
    except Deep500Error as error:
        return unsupported(error)
    except MemoryError:
        return unsupported(f"{candidate.noun} does not fit into memory")
    except InternalError:
        raise
    except Exception as error:  # whatever a framework raises
        raise_if_mistake(error)
        reason = with_place(error)
        where = candidate.group or "this machine"
        return unsupported(f"{where} cannot run {candidate.noun}: {reason}")


def unsupported(reason: object) -> dict[str, str]:
    """The result of a job that cannot be timed."""
    return {"state": "unsupported", "text": str(reason)}


def _death(job: Job, death: Died) -> dict[str, str]:
    """The result of a job whose process gave no answer; a user's code that crashes it is wrong."""
    is_crash = isinstance(death, Ended) and -death.code in CRASHES
    if is_crash and job.is_own_code:
        return {"state": "wrong", "text": f"{job.noun}: {death}"}
    return unsupported(death)


def together(trials: Sequence[Trial]) -> list[Trial]:
    """The trials so that those of one place stand together, each name once: two jobs may come to the same."""
    places: dict[tuple[Any, ...], int] = {}
    by_name: dict[str, Trial] = {}
    for trial in trials:
        places.setdefault(trial.job.place, len(places))
        by_name.setdefault(trial.name, trial)
    return sorted(by_name.values(), key=lambda trial: places[trial.job.place])


def reasons(trials: Sequence[Trial], state: str) -> dict[str, str]:
    """Why the trials in this state cannot be timed, by their names."""
    return {trial.name: trial.text for trial in trials if trial.state == state}


def nothing_to_time(trials: Sequence[Trial]) -> Deep500Error:
    """The error if no trial can be timed: the first wrong result, or else the first reason."""
    # what a user wrote comes before what was added to compare it with
    own_first = sorted(trials, key=lambda trial: not trial.job.is_own_code)
    texts = [trial.text for trial in own_first]
    distinct = list(dict.fromkeys(texts))
    more = ""
    if len(distinct) > 1:
        more = f" (and {len(distinct) - 1} more reasons)"
    for text in reasons(trials, "wrong").values():
        return Wrong(text + more)
    return Deep500Error(distinct[0] + more)
