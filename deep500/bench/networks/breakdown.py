"""Measures where the time of a network goes: each node alone, interleaved with the whole network, in one process."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...contracts.operator_times import node_calls, timed_rounds
from ...errors import Deep500Error, one_line, raise_if_mistake
from .jobs import NetworkJob, job_from_json
from .subject import NetworkSubject

FEWEST_ROUNDS = 5
MOST_ROUNDS = 200
LABELS = ("node", "operator", "kernel", "direction")


def breakdown(
    jobs: Sequence[Mapping[str, Any]],
    process: int,
    seconds: float,
    seed: int,
    progress: Callable[[str], None],
) -> list[dict[str, Any]]:
    """One block of times per job, or the reason why it has none; called in a child process."""
    blocks = []
    seconds_each = seconds / len(jobs)
    for job in map(job_from_json, jobs):
        progress(f"operators of {job.framework} {job.execution} {job.mode}")
        try:
            block = _block(job, process, seconds_each, seed)
        except Deep500Error as error:
            block = {"unsupported": str(error)}
        except Exception as error:
            # whatever a framework raises for a single node
            raise_if_mistake(error)
            block = {"unsupported": one_line(error, kind=True)}
        blocks.append(block)
    return blocks


def _block(
    job: NetworkJob, process: int, seconds: float, seed: int
) -> dict[str, Any]:
    subject = NetworkSubject(job)
    training = subject.step is not None
    calls = node_calls(subject.executor, subject.native_inputs, training)
    runs = [subject.backprop, *(call.run for call in calls)]
    rng = random.Random(f"{seed}/{process}")
    whole, *parts = timed_rounds(runs, MOST_ROUNDS, seconds, FEWEST_ROUNDS, rng)
    operators = []
    for call, ns in zip(calls, parts, strict=True):
        labels = {label: getattr(call, label) for label in LABELS}
        operators.append({**labels, "ns": ns})
    return {"process": process, "network": whole, "operators": operators}
