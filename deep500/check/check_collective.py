"""The check of a collective."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import Deep500Error
from ..supervision.serving import Progress
from .contract import NounCheck, option
from .report import CheckResult

MOST_RANKS = 64

if TYPE_CHECKING:
    from ..contracts.collective import Collective


class CheckCollective(NounCheck):
    """check that a collective counts every rank once, gives all the same bits, never blocks, and costs what it says"""

    subject_help = "a built-in one, 'Ring' or 'Hierarchical(group=4)'; or one in a file, 'my.py:Mine()'"

    ranks: int = option(17, "how many ranks at most, all of them virtual", "P")

    def accept(self, text: str, settings: Mapping[str, Any]) -> None:
        from .collectives.subjects import check_subject

        if not 2 <= self.ranks <= MOST_RANKS:
            raise Deep500Error(f"--ranks {self.ranks}: give 2 to {MOST_RANKS}")
        check_subject(self.load(text, settings), self.ranks)

    def questions(
        self, subject: "Collective", where: str, progress: Progress
    ) -> Iterator[CheckResult]:
        from .collectives import checks

        return checks(subject, self.ranks, self.seed, progress)
