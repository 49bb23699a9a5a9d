"""Newer cheat 10: leaked test data."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier


class N10LeakedTestData(AuditRule):
    """Test data are used once, for reporting, and are no part of the training data."""

    why = (
        "A model that has seen the test examples, or was chosen by them, is tested by "
        "heart."
    )
    advice = (
        "Choose by validation data; search for equal examples in both sets; count the "
        "uses of the test set."
    )
    breaks = """
[[training]]
name = "ours"
test_used_for = ["early stopping", "reporting"]
overlap = 212
"""
    keeps = """
[[training]]
name = "ours"
test_used_for = ["reporting"]
overlap = 0
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for training in dossier.training:
            used = [use for use in training.test_used_for or () if use != "reporting"]
            if training.overlap:
                yield training.fails(
                    f"{training.overlap} test examples are also training data",
                    "overlap",
                )
            elif used:
                yield training.fails(
                    f"test data were used for {', '.join(used)}", "test_used_for"
                )
            elif training.overlap == 0 or training.test_used_for:
                yield training.passes(
                    "test data are apart, for reporting", "overlap", "test_used_for"
                )
