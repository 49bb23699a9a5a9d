"""What several sources declare together: series over processes, comparisons, old hardware beside new."""

from collections.abc import Sequence
from dataclasses import replace

from ..contracts.dossier import (
    ComparisonClaim,
    Dossier,
    ReportedNumber,
    SystemDescription,
)


def study(dossiers: Sequence[Dossier]) -> Dossier:
    """The declarations that follow from several sources and from none of them alone."""
    return Dossier(comparison=_comparisons(dossiers), system=_roles(dossiers))


def _roles(dossiers: Sequence[Dossier]) -> list[SystemDescription]:
    """The newest hardware is taken for that of the proposal; all others for the baseline."""
    known = []
    for dossier in dossiers:
        known += [
            system for system in dossier.system if system.year and not system.role
        ]
    if len(known) < 2:
        return []
    newest = max(known, key=lambda system: system.year or 0)
    others = [system for system in known if system is not newest]
    roles = [replace(system, role="baseline") for system in others]
    return [replace(newest, role="ours"), *roles]


def _comparisons(dossiers: Sequence[Dossier]) -> list[ComparisonClaim]:
    """Trained models of the same subject, side by side: whether time and quality are known of all of them."""
    by_subject: dict[str, list[Dossier]] = {}
    for dossier in dossiers:
        for measurement in dossier.measurement:
            if dossier.training and measurement.subject:
                by_subject.setdefault(measurement.subject, []).append(dossier)
    comparisons = []
    for same in by_subject.values():
        if len(same) < 2:
            continue
        first = same[0].measurement[0]
        claim = ComparisonClaim(
            name=f"{len(same)} results side by side",
            trained=True,
            time=all(map(_has_time, same)),
            quality=all(map(_has_quality, same)),
            method="seeds of both, each with its interval",
        )
        comparisons.append(
            replace(
                claim, origin=replace(first.origin, place="recipe/metrics", fields={})
            )
        )
    return comparisons


def _has_time(dossier: Dossier) -> bool:
    return any(_is_time(number) for number in dossier.number)


def _is_time(number: ReportedNumber) -> bool:
    return number.kind in ("cost", "rate") and number.scope == "application"


def _has_quality(dossier: Dossier) -> bool:
    return any(number.split == "test" for number in dossier.numbers("quality"))
