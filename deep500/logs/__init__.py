"""Reads logs of other tools: one format per file, found by the registry. Nothing in a log is ever run."""

from pathlib import Path

from .. import registry
from ..bundle.containers import open_regular
from ..contracts.dossier import Dossier
from ..contracts.log_format import LogFormat, limited_numbers
from ..errors import Deep500Error, one_line, visible
from ..limited_files import limited_bytes, limited_json, text_of

# what a pickle begins with (protocols 2 to 5), also inside of the zip that torch.save writes
PICKLES = tuple(bytes([0x80, protocol]) for protocol in range(2, 6))
ZIP = b"PK\x03\x04"


def formats() -> list[LogFormat]:
    """Every format that can be read."""
    found = []
    for name in registry.known("logs"):
        format_class = registry.find("logs", name)
        log_format = format_class()
        if isinstance(log_format, LogFormat):
            found.append(log_format)
    return found


def log_dossier(path: Path) -> Dossier:
    """What a log declares; a Deep500Error of one line if no format fits, or it is malformed."""
    _refuse_pickle(path)
    form, content = _read(path)
    name = path.name
    known = []
    for log_format in formats():
        if log_format.form == form and log_format.recognises(content):
            dossier = log_format.dossier(content, name)
            limited_numbers(dossier.number, name)
            return dossier
        known.append(type(log_format).__name__)
    raise Deep500Error(
        f"{visible(name)} is no bundle, no claims file (.toml) and no log of {', '.join(known)}"
    )


def _read(path: Path) -> tuple[str, object]:
    """What is in a file, and its form; what is no text is bytes if any format knows them."""
    data = limited_bytes(path)
    binary = [log_format for log_format in formats() if log_format.form == "bytes"]
    if any(log_format.recognises(data) for log_format in binary):
        return "bytes", data
    text = text_of(data, path.name)
    if text.lstrip()[:1] in ("{", "["):
        return "json", limited_json(text, path.name)
    return "text", text


def _refuse_pickle(path: Path) -> None:
    try:
        with open_regular(str(path)) as file:
            head = file.read(4)
    except OSError as error:
        raise Deep500Error(f"{path} cannot be read: {one_line(error)}") from None
    if head.startswith((*PICKLES, ZIP)):
        raise Deep500Error(
            f"{visible(path.name)} is a pickle, which runs code when it is read: write its times as JSON"
        )
