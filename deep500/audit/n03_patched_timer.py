"""Newer cheat 3: patched timer."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier

LEAST = 0.7
MOST = 1.3


class N03PatchedTimer(AuditRule):
    """The time by the benchmark's clock agrees with another clock."""

    why = (
        "A submission that runs in the same process can patch the clock, and did "
        "(reference-kernels 162)."
    )
    advice = (
        "Take the time in another process; keep both clocks in the result; start "
        "Python with -I."
    )
    breaks = """
[[measurement]]
name = "run of the submission"
clock_ratio = 0.1
"""
    keeps = """
[[measurement]]
name = "run of the submission"
clock_ratio = 0.98
started_first = []
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for measurement in dossier.measurement:
            ratio = measurement.clock_ratio
            if ratio is not None and not LEAST <= ratio <= MOST:
                yield measurement.fails(
                    f"its clock counted {ratio:.3g} s for each second of another one",
                    "clock_ratio",
                )
            elif measurement.started_first:
                yield measurement.warns(
                    "code ran before the benchmark", "started_first"
                )
            elif ratio is not None:
                yield measurement.passes("two clocks agree", "clock_ratio")
