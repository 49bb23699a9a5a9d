"""Way 6: input and output."""

import re
from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier

READING = re.compile(r"input|data|I/O|read|load", re.I)


class F06InputAndOutput(AuditRule):
    """A time of training says what its clock includes, and reading the data is not left out silently."""

    why = (
        "Data that wait in memory when the clock starts make every disk look "
        "infinitely fast."
    )
    advice = (
        "Time the training from storage to the last checkpoint; say what is not "
        "included, and how much it takes."
    )
    breaks = """
[[number]]
name = "epoch of ResNet-50"
kind = "cost"
value = 120.0
unit = "s"
scope = "application"
[[training]]
name = "ours"
input = "synthetic"
"""
    keeps = """
[[number]]
name = "epoch of ResNet-50"
kind = "cost"
value = 120.0
unit = "s"
scope = "application"
includes = ["input", "evaluation", "checkpoints"]
excludes = ["start-up"]
[[training]]
name = "ours"
input = "from storage"
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for number in dossier.numbers("cost", "rate"):
            if number.scope != "application":
                continue
            included = ", ".join(number.includes or ())
            excluded = ", ".join(number.excludes or ())
            if READING.search(f"{included}, {excluded}"):
                said = f"it includes {included or 'nothing more'}"
                if excluded:
                    said += f"; it leaves out {excluded}"
                yield number.passes(said, "includes", "excludes")
            else:
                yield number.fails(
                    "whether it includes reading the data is not said",
                    "includes",
                    "excludes",
                )
        for training in dossier.training:
            if training.input == "synthetic":
                yield training.fails("trained on synthetic input", "input")
            elif training.waits_timed is False:
                yield training.fails(
                    "how long steps waited for data is not recorded", "waits_timed"
                )
            elif training.input == "from memory":
                yield training.warns("the data were in memory already", "input")
            elif training.input or training.waits_timed:
                yield training.passes(
                    "reading the data is timed", "input", "waits_timed"
                )
