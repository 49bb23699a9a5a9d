"""Way 3: tuning runs."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier


class F03TuningRuns(AuditRule):
    """The runs that tuned the hyper-parameters are counted and reported."""

    why = (
        "A result after 1000 trials is not one that took an hour; and the best of "
        "1000 is partly luck."
    )
    advice = (
        "Say how many runs there were and what they cost, and give the baseline as "
        "many."
    )
    breaks = """
[[training]]
name = "ours"
seeds = 5
"""
    keeps = """
[[training]]
name = "ours"
seeds = 5
tuning_runs = 40
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for training in dossier.training:
            if training.tuning_known is False:
                yield training.warns("this version did not count runs", "tuning_runs")
            elif training.tuning_runs is None:
                yield training.fails(
                    "runs before this one are not counted", "tuning_runs"
                )
            else:
                runs = f"earlier runs: {training.tuning_runs}"
                yield training.passes(runs, "tuning_runs")
        for comparison in dossier.comparison:
            ours, other = comparison.tuning_ours, comparison.tuning_other
            if ours is not None and other is not None and ours > 2 * max(other, 1):
                yield comparison.fails(
                    f"ours was tuned by {ours} runs, the other by {other}",
                    "tuning_ours",
                    "tuning_other",
                )
