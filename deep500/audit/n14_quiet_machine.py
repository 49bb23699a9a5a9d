"""Newer cheat 14: quiet machine."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier

MARGIN = 0.02
BUSY = 0.2
DIFFERS = "the same code against itself is not equal"


class N14QuietMachine(AuditRule):
    """The same code against itself comes out equal, and the load of the machine is known."""

    why = (
        "A change of the documentation made 42 benchmarks slower (react_on_rails "
        "4071): nobody had compared equal with equal."
    )
    advice = (
        "Measure the first candidate twice (`--control`), and wait for a quiet "
        "machine (`--wait-for-quiet`)."
    )
    breaks = """
[[measurement]]
name = "night run"
load = 0.6
control_low = 1.08
control_high = 1.19
"""
    keeps = """
[[measurement]]
name = "night run"
load = 0.02
control_low = 0.996
control_high = 1.003
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for measurement in dossier.measurement:
            low, high = measurement.control_low, measurement.control_high
            load = measurement.load
            has_control = low is not None and high is not None
            if (has_control and not (low or 0) <= 1 + MARGIN) or (
                has_control and not (high or 0) >= 1 - MARGIN
            ):
                yield measurement.fails(DIFFERS, "control_low", "control_high")
            elif load is not None and load > BUSY:
                yield measurement.warns(
                    f"others used {100 * load:.0f} % of the machine", "load"
                )
            elif has_control or load is not None:
                yield measurement.passes("equal code is equal", "control_low", "load")
