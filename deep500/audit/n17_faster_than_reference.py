"""Newer cheat 17: convergence faster than the reference."""

import math
from collections.abc import Iterator, Sequence

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import ConvergenceRecord, Dossier
from ..measure.statistics.reference_convergence import (
    ReferencePoint,
    at_batch,
    lower_envelope,
    reference_point,
    trimmed,
)

FIELDS = ("needed", "global_batch")
LEAST_RUNS = 3  # of both means together, or there is no spread to tell by


class N17FasterThanReference(AuditRule):
    """Nothing learns from fewer examples than the reference does with the same batch size."""

    why = (
        "Who needs half of the epochs has changed the task, the data, the target or "
        "the stopping; MLPerf checks it since 2020."
    )
    advice = (
        "Look for what differs from the reference; else run the reference with that "
        "batch size, twice as often as the submission."
    )
    breaks = """
[[convergence]]
subject = "ResNet-50"
name = "the reference"
role = "reference"
global_batch = 4096
unit = "epochs"
needed = [41.0, 40.0, 42.0, 41.0, 40.0, 41.0, 42.0, 41.0, 40.0, 42.0]
[[convergence]]
subject = "ResNet-50"
name = "ours"
global_batch = 4096
unit = "epochs"
needed = [31.0, 32.0, 31.0, 33.0, 32.0]
"""
    keeps = """
[[convergence]]
subject = "ResNet-50"
name = "the reference"
role = "reference"
global_batch = 4096
unit = "epochs"
needed = [41.0, 40.0, 42.0, 41.0, 40.0, 41.0, 42.0, 41.0, 40.0, 42.0]
[[convergence]]
subject = "ResNet-50"
name = "ours"
global_batch = 4096
unit = "epochs"
needed = [41.0, 40.0, 41.0, 42.0, 40.0]
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        references = [each for each in dossier.convergence if each.role == "reference"]
        ours: dict[object, list[ConvergenceRecord]] = {}
        for each in dossier.convergence:
            if each.role != "reference":
                key = (each.subject, each.unit, each.global_batch)
                ours.setdefault(key, []).append(each)
        for records in ours.values():
            first = records[0]
            same = [each for each in references if _is_of(first, each)]
            if same:
                yield _judged(records, same)


def _is_of(ours: ConvergenceRecord, reference: ConvergenceRecord) -> bool:
    return (ours.subject, ours.unit) == (reference.subject, reference.unit)


def _judged(
    records: Sequence[ConvergenceRecord], references: Sequence[ConvergenceRecord]
) -> AuditFinding:
    """What is to be said of all runs of ours with one batch size."""
    first = records[0]
    dropped = max(each.dropped or 1 for each in records)
    needed: list[float] = []
    for each in records:
        # more than are left out decide nothing more
        lost = min(each.lost or 0, dropped + 1)
        needed += [*(each.needed or ()), *[math.inf] * lost]
    kept = trimmed(needed, dropped)
    if first.global_batch is None or not kept:
        least = 2 * dropped + 1
        return first.warns(
            f"a batch size and {least} or more runs are needed to compare with the reference",
            *FIELDS,
        )
    if math.inf in kept:
        return first.warns(f"more than {dropped} runs never got there", "lost")
    points = lower_envelope(_points(references))
    return _compared(first, math.fsum(kept) / len(kept), len(kept), points)


def _compared(
    ours: ConvergenceRecord, mean: float, runs: int, points: Sequence[ReferencePoint]
) -> AuditFinding:
    assert ours.global_batch is not None
    unit = ours.unit or "units of training"
    point = at_batch(points, ours.global_batch)
    below_all = bool(points) and ours.global_batch < points[0].batch
    # a smaller batch needs no more examples than a larger one, so this is no faster than the reference would be
    if below_all and mean >= points[0].least(runs):
        return ours.passes("no faster than with a larger batch", *FIELDS)
    if point is None:
        return ours.warns("there is no reference for this batch size", *FIELDS)
    if point.runs + runs < LEAST_RUNS:
        return ours.warns("too few runs of both to tell chance from speed", *FIELDS)
    least = point.least(runs)
    said = f"{mean:.4g} {unit} on average; the reference takes {point.mean:.4g}"
    if mean < least:
        return ours.fails(f"{said}, and at least {least:.4g} by chance", *FIELDS)
    return ours.passes(said, *FIELDS)


def _points(references: Sequence[ConvergenceRecord]) -> list[ReferencePoint]:
    points = []
    for each in references:
        if each.global_batch is None or not each.needed:
            continue
        point = reference_point(each.global_batch, each.needed, each.dropped or 1)
        if point is not None:
            points.append(point)
    return points
