"""Rule 1: base of a speedup."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier


class R01BaseOfASpeedup(AuditRule):
    """A speed-up says what its base is, and how fast the base was in absolute terms."""

    why = (
        "A program that is slow on one processor scales best. Of 39 papers with "
        "speed-ups, 15 did not give the base (SC'15)."
    )
    advice = (
        "Give the time or rate of the base with its unit, and say whether it is one "
        "process of the parallel program or the best serial one."
    )
    breaks = """
[[speedup]]
name = "parallel speed-up"
value = 53.1
processes = 64
"""
    keeps = """
[[speedup]]
name = "parallel speed-up"
value = 53.1
processes = 64
base = "one core of the same machine"
base_kind = "best serial"
base_value = 31.0
base_unit = "s"
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for speedup in dossier.speedup:
            if speedup.base_value is None or not speedup.base_unit:
                yield speedup.fails(
                    "the absolute performance of its base is not given",
                    "value",
                    "base_value",
                    "base_unit",
                )
            elif speedup.processes and not speedup.base_kind:
                yield speedup.fails(
                    "its base may be one parallel process or the best serial program",
                    "base_kind",
                )
            elif not (speedup.base_kind or speedup.base):
                yield speedup.warns("it does not say what its base is", "base")
            else:
                base = f"{speedup.base_value:.6g} {speedup.base_unit}"
                yield speedup.passes(f"its base is known: {base}", "base_value")
