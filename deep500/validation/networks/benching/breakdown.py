"""Where the time of a network goes: each of its nodes alone, between runs of the whole, in one process."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ....contracts.operator_times import node_calls, timed_rounds
from ....errors import Deep500Error, one_line
from .jobs import Job, job_from_json
from .subject import Subject

FEWEST_ROUNDS, MOST_ROUNDS = 5, 200
WORDS = ("node", "operator", "kernel", "direction")


def breakdown(
    jobs: Sequence[Mapping[str, Any]],
    process: int,
    seconds: float,
    seed: int,
    progress: Callable[[str], None],
) -> list[dict[str, Any]]:
    """One block per job; called in a child process."""
    found = []
    for job in map(job_from_json, jobs):
        progress(f"operators of {job.framework} {job.way} {job.mode}")
        try:
            found.append(_block(job, process, seconds / len(jobs), seed))
        except Deep500Error as error:
            found.append({"unsupported": str(error)})
        except Exception as error:  # whatever an engine says of a node alone
            found.append({"unsupported": one_line(error, kind=True)})
    return found


def _block(job: Job, process: int, seconds: float, seed: int) -> dict[str, Any]:
    subject = Subject(job)
    calls = node_calls(subject.executor, subject.given, subject.step is not None)
    runs = [subject.backprop, *(call.run for call in calls)]
    rng = random.Random(f"{seed}/{process}")
    whole, *parts = timed_rounds(runs, MOST_ROUNDS, seconds, FEWEST_ROUNDS, rng)
    operators = []
    for call, ns in zip(calls, parts, strict=True):
        words = {word: getattr(call, word) for word in WORDS}
        operators.append({**words, "ns": ns})
    return {"process": process, "network": whole, "operators": operators}
