"""The rule contract: what an audit asks of a result, one rule per file in audit/.

The name of the file is the rule's: `r01_base_of_a_speedup.py` holds R01BaseOfASpeedup, whose id is R1. Its first letter
says where it comes from: R the twelve rules of SC'15, F the twelve ways to fool the masses, N newer cheats.
"""

import re
from collections.abc import Iterator
from typing import ClassVar

from ..definition import Definition
from ..errors import lacking
from .declaration import AuditFinding
from .dossier import Dossier

FAMILIES = {
    "R": "the twelve rules of scientific benchmarking (SC'15)",
    "F": "the twelve ways to fool the masses (2018)",
    "N": "newer cheats",
}


class AuditRule(Definition):
    """A subclass has a docstring of one sentence that says what an honest result does, and a method `judge`.

    `breaks` and `keeps` are claims files in TOML: one that the rule fails, and one that passes it.
    """

    why: ClassVar[str]  # what goes wrong where the rule is broken
    advice: ClassVar[str]  # what the author can do
    breaks: ClassVar[str]
    keeps: ClassVar[str]

    @property
    def id(self) -> str:
        """R1, F12, N3."""
        letter, number = _parts(type(self).__name__)
        return f"{letter}{number}"

    @property
    def sentence(self) -> str:
        """What an honest result does."""
        return (type(self).__doc__ or "").strip()

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        """What the rule says of each declaration that it is about; nothing if it is about none of them."""
        raise lacking(self, "judge")


def _parts(class_name: str) -> tuple[str, int]:
    match = re.match(r"([A-Z])(\d+)", class_name)
    if not match:
        return class_name[:1], 0
    return match[1], int(match[2])


def rule_order(rule: AuditRule) -> tuple[int, int]:
    """Rules in the order of their families and numbers; those of other packages last."""
    letter, number = _parts(type(rule).__name__)
    families = list(FAMILIES)
    place = families.index(letter) if letter in FAMILIES else len(families)
    return place, number
