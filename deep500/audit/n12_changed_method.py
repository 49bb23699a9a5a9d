"""Newer cheat 12: changed method."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier, MeasurementConduct


class N12ChangedMethod(AuditRule):
    """All points of a series, and all results of one subject, were measured in the same way."""

    why = (
        "asv showed a regression of 2 to 7 times for ten days: only the sampling had "
        "changed (newton 3992)."
    )
    advice = "Measure the old points again with the new method, or begin a new series."
    breaks = """
[[point]]
series = "nightly"
name = "1 process"
processes = 1
method = "mean of 10"
[[point]]
series = "nightly"
name = "2 processes"
processes = 2
method = "best of 100"
"""
    keeps = """
[[point]]
series = "nightly"
name = "1 process"
processes = 1
method = "median of 30"
[[point]]
series = "nightly"
name = "2 processes"
processes = 2
method = "median of 30"
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for points in dossier.series().values():
            methods = {point.method for point in points if point.method}
            if len(methods) > 1:
                listed = "; ".join(sorted(methods))
                yield points[-1].fails(f"methods of the series: {listed}", "method")
            elif methods:
                yield points[-1].passes("one method", "method")
        by_subject: dict[str, list[MeasurementConduct]] = {}
        for measurement in dossier.measurement:
            if measurement.subject and measurement.method:
                by_subject.setdefault(measurement.subject, []).append(measurement)
        for same in by_subject.values():
            methods = {measurement.method or "" for measurement in same}
            if len(methods) > 1:
                listed = "; ".join(sorted(methods))
                yield same[-1].fails(
                    f"measured by different methods: {listed}", "method"
                )
            elif len(same) > 1:
                yield same[-1].passes("one method for all results", "method")
