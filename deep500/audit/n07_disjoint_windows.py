"""Newer cheat 7: disjoint windows."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier


class N07DisjointWindows(AuditRule):
    """Rates of several processes are added over one common window."""

    why = (
        "98 GB/s over a link of 50 GB/s: every process had counted its own best "
        "seconds (torchcomms 3941)."
    )
    advice = "Divide all bytes by the time from the first start to the last end."
    breaks = """
[[number]]
name = "bandwidth of 8 processes"
kind = "rate"
value = 98.0
unit = "GB/s"
ranks = 8
windows = "own"
"""
    keeps = """
[[number]]
name = "bandwidth of 8 processes"
kind = "rate"
value = 47.0
unit = "GB/s"
ranks = 8
windows = "common"
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for number in dossier.numbers("rate"):
            if number.windows == "own":
                yield number.fails(
                    "rates are added that were not reached at the same time", "windows"
                )
            elif number.windows:
                yield number.passes("one common window", "windows")
