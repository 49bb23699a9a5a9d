"""Simulates a subject for every seed, into a bundle; what is finished is on disk."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...bundle.records.recording import recording
from ...cluster.critical_path import ACTIVITIES, PathStretch, critical_path, timeline
from ...cluster.disturbances import Disturbances
from ...cluster.engine import simulate_schedule
from ...cluster.network import ClusterNetwork
from ...cluster.outcome import BYTES, NOISE, OVERHEAD, WORK
from ...cluster.schedule import MessageSchedule
from ...cluster.waiting import check_finished
from ...contracts.result import Record
from ...results.simulating.data import (
    CriticalPath,
    NetworkLevel,
    PathPart,
    SeedBlock,
    SimulationPlan,
)
from .subjects import SimulatedSubject

Progress = Callable[[float, str], None]
MOST_RECORDED = 4_000_000  # operations of which intervals are kept: 32 bytes each
MOST_DRAWN = 4_000  # operations of a timeline
MOST_DRAWN_RANKS = 64
MOST_PARTS = 1_000  # of a critical path


@dataclass(frozen=True)
class Cluster:
    """A network and what disturbs it; `elsewhere` says that its figures are another machine's."""

    network: ClusterNetwork
    disturbances: Disturbances
    elsewhere: str = ""


def run_simulation(
    subject: SimulatedSubject,
    cluster: Cluster,
    seeds: Sequence[int],
    folder: Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> Record:
    """Simulate a subject for every seed; raises a Deep500Error if its ranks cannot finish."""
    plan = _plan(subject, cluster, seeds)
    name = f"simulation-{subject.kind}"
    with recording(
        "cluster_simulation", plan, folder, name=name, resume=resume
    ) as record:
        done = len(record.blocks)
        for number, seed in list(enumerate(seeds))[done:]:
            block = _block(subject, cluster, seed, number, len(seeds), progress)
            record.append(block)
        return record.finish()


def _plan(
    subject: SimulatedSubject, cluster: Cluster, seeds: Sequence[int]
) -> SimulationPlan:
    schedule = subject.schedule
    levels = [NetworkLevel(**asdict(level)) for level in cluster.network.levels]
    return SimulationPlan(
        subject=subject.name,
        kind=subject.kind,  # type: ignore[arg-type]
        ranks=schedule.size,
        operations=len(schedule.nodes),
        messages=schedule.messages,
        fingerprint=fingerprint(schedule),
        levels=levels,
        calibration=cluster.network.calibration,
        elsewhere=cluster.elsewhere,
        disturbances=_facts(cluster.disturbances),
        setting=subject.setting,
        seeds=list(seeds),
        is_random=cluster.disturbances.is_random,
    )


def fingerprint(schedule: MessageSchedule) -> str:
    """The hash of all operations and of what waits for what."""
    digest = hashlib.sha256()
    for array in (schedule.ranks, schedule.nodes, schedule.edges):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _facts(disturbances: Disturbances) -> dict[str, str]:
    facts = {}
    if disturbances.noise is not None:
        share = disturbances.noise.detours().share
        facts["noise"] = f"{disturbances.noise} ({100 * share:.3g} % of the time)"
    if disturbances.speed:
        facts["speed"] = _by_rank(disturbances.speed)
    if disturbances.stragglers[0]:
        share, factor = disturbances.stragglers
        facts["stragglers"] = (
            f"{100 * share:.3g} % of the ranks, {factor:g} times slower"
        )
    if disturbances.death:
        facts["deaths"] = _by_rank(disturbances.death) + " (ns)"
    return facts


def _by_rank(values: Mapping[int, Any]) -> str:
    return ", ".join(f"rank {rank}: {value:g}" for rank, value in values.items())


def _block(
    subject: SimulatedSubject,
    cluster: Cluster,
    seed: int,
    number: int,
    count: int,
    progress: Progress | None,
) -> SeedBlock:
    """One simulation; the first one is told in full."""
    schedule = subject.schedule
    is_first = number == 0
    record = is_first and len(schedule.nodes) <= MOST_RECORDED

    def tell(fraction: float, text: str) -> None:
        if progress is not None:
            progress((number + fraction) / count, f"seed {seed}, {text}")

    outcome = simulate_schedule(
        schedule,
        cluster.network,
        cluster.disturbances,
        seed,
        record=record,
        progress=tell,
    )
    check_finished(schedule, outcome.blocked)
    spent = outcome.spent.sum(0).tolist()
    block = SeedBlock(
        seed,
        outcome.makespan,
        spent[WORK],
        spent[OVERHEAD],
        max(0, spent[BYTES]),
        spent[NOISE],
        outcome.events,
    )
    if not is_first:
        return block
    block = replace(
        block, nanoseconds=outcome.nanoseconds.tolist(), training=subject.training
    )
    if not record:
        return block
    speeds = cluster.disturbances.speeds(schedule.size, seed)
    path = critical_path(schedule, cluster.network, outcome, speeds)
    block = replace(block, path=_path(path))
    if len(schedule.nodes) > MOST_DRAWN or schedule.size > MOST_DRAWN_RANKS:
        return block
    drawn = timeline(schedule, cluster.network, outcome, speeds)
    return replace(block, timeline=_parts(drawn))


def _path(stretches: Sequence[PathStretch]) -> CriticalPath:
    activities = dict.fromkeys(ACTIVITIES, 0)
    for stretch in stretches:
        activities[stretch.activity] += stretch.end - stretch.begin
    shown: Iterable[PathStretch] = stretches
    if len(stretches) > MOST_PARTS:
        half = MOST_PARTS // 2
        shown = [*stretches[:half], *stretches[-half:]]
    return CriticalPath(activities, _parts(shown), len(stretches))


def _parts(stretches: Iterable[PathStretch]) -> list[PathPart]:
    return [PathPart(s.rank, s.begin, s.end, s.activity) for s in stretches]  # type: ignore[arg-type]
