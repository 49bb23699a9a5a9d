"""Rule 10: parallel time."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier


class R10ParallelTime(AuditRule):
    """A parallel time says how the processes were synchronised and how their times became one."""

    why = (
        "A barrier does not start processes together, and mean, median and maximum "
        "over them are three different numbers."
    )
    advice = (
        "Say how they started (a window of synchronised clocks, a barrier) and that "
        "the maximum, or which other summary, is shown."
    )
    breaks = """
[[number]]
name = "all-reduce of 1 MiB"
kind = "cost"
value = 505.0
unit = "us"
ranks = 64
"""
    keeps = """
[[number]]
name = "all-reduce of 1 MiB"
kind = "cost"
value = 505.0
unit = "us"
ranks = 64
synchronised = "start window of synchronised clocks"
across_ranks = "maximum"
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for number in dossier.numbers("cost", "rate"):
            if (number.ranks or 1) <= 1:
                continue
            if number.synchronised and number.across_ranks:
                yield number.passes(
                    f"{number.synchronised}; {number.across_ranks} over the processes",
                    "synchronised",
                    "across_ranks",
                )
            else:
                yield number.fails(
                    f"measured on {number.ranks} processes, and how is not said",
                    "ranks",
                    "synchronised",
                    "across_ranks",
                )
