"""Newer cheat 4: deferred work."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier

MOST_AFTER = 0.5
MOST_EVALUATION = 3.0


class N04DeferredWork(AuditRule):
    """The work is done when the clock stops."""

    why = (
        "Work on another stream or thread, or done lazily by the check, costs no time "
        "(Sakana's “150 x” was 3 x slower)."
    )
    advice = (
        "Synchronise the device inside the clock, and compare CPU time before and "
        "after it."
    )
    breaks = """
[[number]]
name = "my kernel"
kind = "cost"
value = 0.03
unit = "ms"
after_clock = 62.0
"""
    keeps = """
[[number]]
name = "my kernel"
kind = "cost"
value = 1.7
unit = "ms"
after_clock = 0.0
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for number in dossier.numbers("cost", "rate"):
            after = number.after_clock
            if after is None:
                continue
            if after > MOST_AFTER:
                yield number.fails(
                    f"{after:.3g} s of CPU time after the clock for each timed second",
                    "after_clock",
                )
            else:
                yield number.passes("no work after the clock", "after_clock")
        for training in dossier.training:
            share = training.evaluation_share
            if share is None:
                continue
            if share > MOST_EVALUATION:
                yield training.fails(
                    f"evaluating an example took {share:.3g} times the CPU time of training "
                    "with one: steps may have left work behind",
                    "evaluation_share",
                )
            else:
                yield training.passes("evaluation is cheaper", "evaluation_share")
