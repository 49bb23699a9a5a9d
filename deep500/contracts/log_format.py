"""The log contract: how results of another tool are read into a dossier; one format per file in logs/."""

from typing import ClassVar, Literal

from ..definition import Definition
from ..errors import lacking
from .dossier import Dossier


class LogFormat(Definition):
    """A subclass has a docstring that names the tool, and the two methods below. Texts come from anyone."""

    form: ClassVar[Literal["json", "text", "bytes"]] = "json"

    def recognises(self, content: object) -> bool:
        """Whether this is a log of that format: `content` is the JSON value, the text or the bytes, as `form` says."""
        raise lacking(self, "recognises")

    def dossier(self, content: object, file: str) -> Dossier:
        """What the log declares; a Deep500Error names what is wrong in it."""
        raise lacking(self, "dossier")
