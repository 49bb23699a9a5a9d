"""Way 8: option sets."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier


class F08OptionSets(AuditRule):
    """Speed and quality of a system come from the same runs, with the same options."""

    why = (
        "Options that make training fast may make it inaccurate: each alone looks "
        "splendid."
    )
    advice = "Report time and quality of every configuration in one row."
    breaks = """
[[number]]
name = "throughput"
system = "ours"
kind = "rate"
value = 52000.0
unit = "images/s"
options = "A: batch 32k, float16"
[[number]]
name = "accuracy"
system = "ours"
kind = "quality"
value = 76.9
unit = "%"
options = "B: batch 256, float32"
"""
    keeps = """
[[number]]
name = "throughput"
system = "ours"
kind = "rate"
value = 41000.0
unit = "images/s"
options = "A: batch 8k"
[[number]]
name = "accuracy"
system = "ours"
kind = "quality"
value = 76.1
unit = "%"
options = "A: batch 8k"
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        by_system: dict[str | None, set[str]] = {}
        for quality in dossier.numbers("quality"):
            if quality.options:
                by_system.setdefault(quality.system, set()).add(quality.options)
        for speed in dossier.numbers("cost", "rate"):
            options = by_system.get(speed.system)
            if not options or not speed.options:
                continue
            if speed.options in options:
                yield speed.passes("its quality was measured with it", "options")
            else:
                others = ", ".join(sorted(options))
                yield speed.fails(
                    f"its options are “{speed.options}”, those of the quality “{others}”",
                    "options",
                )
