"""Where the time of a network goes: each of its nodes alone, between runs of the whole, in one process."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ....contracts.operator_times import node_calls
from ....errors import Deep500Error, one_line
from ....measure.clock import now
from .jobs import Job, job_from_json
from .subject import Subject

SHORTEST_NS = 20_000  # a call that takes less is repeated
MOST_CALLS = 1000
FEWEST_ROUNDS, MOST_ROUNDS = 5, 200
WARM_UP = 2  # rounds
WHOLE = "network"
Run = Callable[[], Any]


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
    parts = _parts(subject)
    runs: list[Run] = [subject.backprop, *(part["run"] for part in parts)]
    times = _rounds(runs, seconds, random.Random(f"{seed}/{process}"))
    operators = []
    for part, own in zip(parts, times[1:], strict=True):
        words = {key: part[key] for key in ("node", "operator", "kernel", "direction")}
        operators.append({**words, "ns": own})
    return {"process": process, WHOLE: times[0], "operators": operators}


def _parts(subject: Subject) -> list[dict[str, Any]]:
    parts = []
    training = subject.step is not None
    for one in node_calls(subject.executor, subject.given, training):
        words = {"node": one.node.name, "operator": type(one.node.operator).__name__}
        words["kernel"] = one.kernel
        for direction, call in (("forward", one.forward), ("backward", one.backward)):
            if call is not None:
                parts.append({**words, "direction": direction, "run": _bound(call)})
    return parts


def _bound(call: Any) -> Run:
    function, arguments = call.function, call.arguments
    return lambda: function(*arguments)


def _rounds(runs: Sequence[Run], seconds: float, rng: random.Random) -> list[list[int]]:
    """Nanoseconds per call of each, in rounds of random order."""
    calls = [_calls(run) for run in runs]
    times: list[list[int]] = [[] for _ in runs]
    order = list(range(len(runs)))
    end = now() + int(seconds * 1e9)
    done = -WARM_UP
    while done < FEWEST_ROUNDS or (now() < end and done < MOST_ROUNDS):
        rng.shuffle(order)
        for i in order:
            taken = _timed(runs[i], calls[i])
            if done >= 0:
                times[i].append(taken)
        done += 1
    return times


def _calls(run: Run) -> int:
    run()
    once = min(_timed(run, 1), _timed(run, 1))
    return min(MOST_CALLS, max(1, SHORTEST_NS // max(1, once)))


def _timed(run: Run, calls: int) -> int:
    start = now()
    for _ in range(calls):
        run()
    return (now() - start) // calls
