"""Rule 2: reason for a subset."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier


class R02ReasonForASubset(AuditRule):
    """Results for a part of a benchmark, or on a part of a machine, give the reason."""

    why = "Whoever chooses the problems after seeing the results can show any result."
    advice = (
        "Show every member of the suite and use the whole machine, or give the reason."
    )
    breaks = """
[[suite]]
name = "NAS parallel benchmarks"
members = 8
shown = 3
"""
    keeps = """
[[suite]]
name = "NAS parallel benchmarks"
members = 8
shown = 7
reason = "IS has no version for this language"
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for suite in dossier.suite:
            if suite.members is None or suite.shown is None:
                yield suite.warns("how many are shown is not said", "members", "shown")
            elif suite.shown >= suite.members:
                yield suite.passes("everything is shown", "members", "shown")
            elif suite.reason:
                yield suite.passes(
                    f"a part is shown: {suite.reason}", "shown", "reason"
                )
            else:
                yield suite.fails(
                    f"{suite.shown} of {suite.members} are shown, without a reason",
                    "members",
                    "shown",
                    "reason",
                )
        for system in dossier.system:
            if system.processors is None or system.processors_used is None:
                continue
            if system.processors_used >= system.processors:
                yield system.passes("the whole machine is used", "processors_used")
            elif system.reason:
                yield system.passes(f"a part is used: {system.reason}", "reason")
            else:
                yield system.fails(
                    f"{system.processors_used} of {system.processors} processors are used, "
                    "without a reason",
                    "processors",
                    "processors_used",
                    "reason",
                )
