"""Newer cheat 11: target after the fact."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier


class N11TargetAfterTheFact(AuditRule):
    """The target was set before the runs, and is the same for all that are compared."""

    why = "A target that is set after the fact is one that was reached."
    advice = (
        "Write the target down, with a date, before the first run; show several "
        "targets."
    )
    breaks = """
[[training]]
name = "ours"
target = 74.7
target_set = "after"
"""
    keeps = """
[[training]]
name = "ours"
target = 75.9
target_set = "before"
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        by_subject: dict[str, set[float]] = {}
        for training in dossier.training:
            if training.subject and training.target is not None:
                by_subject.setdefault(training.subject, set()).add(training.target)
        for training in dossier.training:
            if training.target is None:
                continue
            if training.target_set == "after":
                yield training.fails("its target was set after the runs", "target_set")
            elif len(by_subject.get(training.subject or "", ())) > 1:
                targets = by_subject[training.subject or ""]
                yield training.fails(
                    f"targets differ: {', '.join(f'{t:g}' for t in sorted(targets))}",
                    "target",
                )
            elif training.target_set is None:
                yield training.warns(
                    "when the target was set is not said", "target_set"
                )
            else:
                yield training.passes(
                    "its target was set before", "target", "target_set"
                )
