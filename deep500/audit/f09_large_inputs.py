"""Way 9: large inputs."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier


class F09LargeInputs(AuditRule):
    """The inputs are as large as those of the data set, or smaller ones are shown to be worse."""

    why = (
        "A cat of 8000 x 8000 pixels takes a thousand times the operations of one of "
        "244 x 244, at full speed, for the same answer."
    )
    advice = (
        "Train on the size of the data set, or show accuracy and time at smaller sizes."
    )
    breaks = """
[[training]]
name = "cats"
example_size = 192000000.0
dataset_size = 178608.0
"""
    keeps = """
[[training]]
name = "cats"
example_size = 150528.0
dataset_size = 178608.0
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for training in dossier.training:
            if training.example_size is None or not training.dataset_size:
                continue
            factor = training.example_size / training.dataset_size
            if factor <= 1.05:
                yield training.passes(
                    "its inputs are not inflated", "example_size", "dataset_size"
                )
            elif training.smaller_size:
                yield training.warns(
                    f"{factor:.3g} times the values; smaller: {training.smaller_size}",
                    "example_size",
                    "smaller_size",
                )
            else:
                yield training.fails(
                    f"every example has {factor:.3g} times the values of the data set's",
                    "example_size",
                    "dataset_size",
                    "smaller_size",
                )
