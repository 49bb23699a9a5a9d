"""Newer cheat 16: complete and consistent."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier


class N16CompleteAndConsistent(AuditRule):
    """The result is complete, and does not contradict itself."""

    why = "Whoever edits some numbers of a result forgets others that follow from them."
    advice = "Publish the bundle as it was written; see what `d5 verify` says."
    breaks = """
[[measurement]]
name = "the result"
complete = true
contradictions = ["the mean of the table is not that of its rows"]
"""
    keeps = """
[[measurement]]
name = "the result"
complete = true
contradictions = []
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for measurement in dossier.measurement:
            if measurement.contradictions:
                first = measurement.contradictions[0]
                yield measurement.fails(
                    f"it contradicts itself: {first}", "contradictions"
                )
            elif measurement.failures:
                first = measurement.failures[0]
                yield measurement.fails(f"not all of it succeeded: {first}", "failures")
            elif measurement.complete is False:
                yield measurement.fails("it ended before its time", "complete")
            elif measurement.remarks:
                yield measurement.warns(measurement.remarks[0], "remarks")
            elif measurement.complete:
                yield measurement.passes("complete, without contradictions", "complete")
