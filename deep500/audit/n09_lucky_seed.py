"""Newer cheat 9: lucky seed."""

import re
from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier

CHOSEN = re.compile(r"\b(best|highest|lucky|selected|median run)\b", re.I)


class N09LuckySeed(AuditRule):
    """A quality stands on several seeds, none of which is chosen by its result."""

    why = (
        "Seeds differ by more than most published improvements; the best of many is "
        "no estimate of any."
    )
    advice = (
        "Plan the seeds, train at least five, and report all of them with an interval."
    )
    breaks = """
[[training]]
name = "ours"
seeds = 1
chosen = "the best run"
"""
    keeps = """
[[training]]
name = "ours"
seeds = 5
seeds_planned = 5
chosen = "all are reported"
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for training in dossier.training:
            seeds, planned = training.seeds, training.seeds_planned
            if training.chosen and CHOSEN.search(training.chosen):
                yield training.fails(f"chosen: {training.chosen}", "chosen", "seeds")
            elif seeds is None:
                continue
            elif planned is not None and seeds < planned and not training.seeds_lost:
                yield training.fails(
                    f"{seeds} of {planned} seeds are reported", "seeds", "seeds_planned"
                )
            elif seeds == 1 and planned != 1:
                yield training.fails("a single seed", "seeds", "seeds_planned")
            elif seeds < 3:
                yield training.warns("too few seeds for an interval", "seeds")
            else:
                yield training.passes(f"{seeds} seeds", "seeds")
