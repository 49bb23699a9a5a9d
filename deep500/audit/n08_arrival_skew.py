"""Newer cheat 8: arrival skew."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier


class N08ArrivalSkew(AuditRule):
    """The time of a collective does not include waiting for processes that came late."""

    why = (
        "What is called communication is then the imbalance of the computation before "
        "it (vllm 52777)."
    )
    advice = (
        "Stamp the arrival of every process, and count from the last one; or start "
        "them in a window."
    )
    breaks = """
[[number]]
name = "all-reduce in training"
kind = "cost"
value = 31.0
unit = "ms"
ranks = 8
arrival = "included"
"""
    keeps = """
[[number]]
name = "all-reduce in training"
kind = "cost"
value = 2.2
unit = "ms"
ranks = 8
arrival = "excluded"
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for number in dossier.numbers("cost", "rate"):
            if number.arrival == "included":
                yield number.fails("it includes waiting for late processes", "arrival")
            elif number.arrival == "not known":
                yield number.warns(
                    "it may include waiting for late processes", "arrival"
                )
            elif number.arrival:
                yield number.passes("waiting is excluded", "arrival")
