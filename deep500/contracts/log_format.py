"""The log contract: how results of another tool are read into a dossier; one format per file in logs/."""

from collections.abc import Iterable
from itertools import islice
from typing import ClassVar, Literal

from ..definition import Definition
from ..errors import Deep500Error, lacking, visible
from .dossier import Dossier, ReportedNumber

MOST_NUMBERS = 20_000  # of one log


class LogFormat(Definition):
    """A subclass has a docstring that names the tool, and the two methods below. Texts come from anyone."""

    form: ClassVar[Literal["json", "text", "bytes"]] = "json"

    def recognises(self, content: object) -> bool:
        """Whether this is a log of that format: `content` is the JSON value, the text or the bytes, as `form` says."""
        raise lacking(self, "recognises")

    def dossier(self, content: object, file: str) -> Dossier:
        """What the log declares; a Deep500Error names what is wrong in it."""
        raise lacking(self, "dossier")


def limited_numbers(
    numbers: Iterable[ReportedNumber], file: str
) -> list[ReportedNumber]:
    """The numbers of a log; a Deep500Error once there are more than anybody reads."""
    found = list(islice(numbers, MOST_NUMBERS + 1))
    if len(found) > MOST_NUMBERS:
        raise Deep500Error(
            f"{visible(file)} has more than {MOST_NUMBERS} numbers: cut out what matters"
        )
    return found
