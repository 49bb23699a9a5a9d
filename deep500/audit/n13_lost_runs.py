"""Newer cheat 13: lost runs."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier


class N13LostRuns(AuditRule):
    """All runs are reported, also those that diverged, crashed or were stopped."""

    why = "A mean over the seeds that did not diverge is not what a user will get."
    advice = (
        "Count a lost seed as one that never reaches the target, and say how many "
        "there were."
    )
    breaks = """
[[training]]
name = "ours"
seeds = 3
seeds_planned = 6
seeds_lost = 3
seeds_lost_said = false
"""
    keeps = """
[[training]]
name = "ours"
seeds = 6
seeds_planned = 6
seeds_lost = 1
seeds_lost_said = true
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for training in dossier.training:
            if training.seeds_lost and not training.seeds_lost_said:
                yield training.fails(
                    f"{training.seeds_lost} lost seeds are not counted",
                    "seeds_lost",
                    "seeds_lost_said",
                )
            elif training.seeds_lost is not None:
                yield training.passes("lost seeds are counted", "seeds_lost")
        for measurement in dossier.measurement:
            runs, shown = measurement.runs, measurement.runs_reported
            if runs is None or shown is None:
                continue
            if shown < runs:
                yield measurement.fails(
                    f"{shown} of {runs} runs are reported", "runs", "runs_reported"
                )
            else:
                yield measurement.passes(
                    "all runs are reported", "runs", "runs_reported"
                )
