"""The check of a communication scheme."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from ..errors import Deep500Error
from ..supervision.serving import Progress
from .contract import NounCheck, option
from .report import CheckReport

MOST_RANKS = 64

if TYPE_CHECKING:
    from ..contracts.scheme import Scheme


class CheckScheme(NounCheck):
    """check how ranks train together: does it train, agree, count every rank, resume, and name lost ranks"""

    subject_help = (
        "a built-in one, 'LocalSGD(period=8)' or 'DPSGD(topology=Torus())'; or a scheme or distributed optimizer in a "
        "file, 'my.py:Mine(period=8)'"
    )
    frameworks = ("reference",)
    seeded = "data and networks"
    grace_s = 20.0

    ranks: int = option(4, "how many ranks, all of them virtual", "P")

    def load(self, text: str, settings: Mapping[str, Any]) -> "Scheme":
        from .schemes.loading import load_scheme

        return load_scheme(text)

    def accept(self, text: str, settings: Mapping[str, Any]) -> None:
        if not 2 <= self.ranks <= MOST_RANKS:
            raise Deep500Error(f"--ranks {self.ranks}: give 2 to {MOST_RANKS}")
        self.load(text, settings).check(self.ranks)

    def report(self, subject: "Scheme", where: str, progress: Progress) -> CheckReport:
        from .schemes import check_on_framework

        return check_on_framework(subject, self.ranks, where, self.seed, progress)

    def limit(self, seconds: float) -> AbstractContextManager[None]:
        from .schemes.time_limit import time_limit

        return time_limit(seconds)
