"""Measures where the time of a network goes: each node alone, interleaved with the whole network, in one process."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ...errors import Deep500Error, one_line, raise_if_mistake
from ...graph.operator_times import node_calls, timed_rounds
from ...measure.candidates import candidate_from_json
from ...measure.plan import Plan, PlanEntry
from ...supervision.isolation import Died, isolated
from ..notes import Notes
from .jobs import GRAPH, NetworkJob

FEWEST_ROUNDS = 5
MOST_ROUNDS = 200
PROCESSES = 3  # as many as an interval needs
BREAKDOWN = f"{__name__}:breakdown"
LABELS = ("node", "operator", "kernel", "direction")


def breakdown_blocks(
    plan: Plan, seconds: float, notes: Notes
) -> Iterator[dict[str, Any]]:
    """The times of the single nodes of every framework's network, at the largest batch, in fresh processes."""
    largest = max(entry.levels["batch"] for entry in plan.entries)
    chosen = [entry for entry in plan.entries if entry.levels["batch"] == largest]
    seconds_each = seconds / PROCESSES / len(plan.groups)
    for process in range(PROCESSES):
        number = process + 1
        for name in plan.groups:
            notes.says(f"the operators of {name}, process {number} of {PROCESSES}")
            entries = [entry for entry in chosen if entry.group == name]
            yield from _blocks(entries, process, seconds_each, plan)


def _blocks(
    entries: Sequence[PlanEntry], process: int, seconds: float, plan: Plan
) -> Iterator[dict[str, Any]]:
    arguments = {
        "jobs": [entry.to_json()["job"] for entry in entries],
        "process": process,
        "seconds": seconds,
        "seed": plan.seed,
    }
    try:
        results = isolated(BREAKDOWN, arguments, plan.timeout_s)
    except Died as death:
        results = [{"unsupported": str(death)}] * len(entries)
    for entry, result in zip(entries, results, strict=True):
        yield {"breakdown": entry.name, **result}


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
    for job in map(candidate_from_json, jobs):
        assert isinstance(job, NetworkJob)
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


def _block(job: NetworkJob, process: int, seconds: float, seed: int) -> dict[str, Any]:
    if job.execution == GRAPH:
        return {"unsupported": "a graph is replayed as a whole"}
    subject: Any = job.checked_subject()
    training = subject.step is not None
    calls = node_calls(subject.executor, subject.native_inputs, training)
    runs = [subject.backprop, *(call.run for call in calls)]
    rng = random.Random(f"{seed}/{process}")
    sync = subject.engine.sync
    whole, *parts = timed_rounds(runs, MOST_ROUNDS, seconds, FEWEST_ROUNDS, rng, sync)
    operators = []
    for call, ns in zip(calls, parts, strict=True):
        labels = {label: getattr(call, label) for label in LABELS}
        operators.append({**labels, "ns": ns})
    return {"process": process, "network": whole, "operators": operators}
