"""The export contract: a bundle as a file of another tool; one format per file in `exports/`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from .. import registry
from ..definition import Definition
from ..errors import Deep500Error, lacking, unknown
from .result import Record

AnyRecord = Record[Any, Any, Any]


class ExportFormat(Definition):
    """Writes a record; the first line of the docstring of a subclass says what for."""

    # of the file; empty for a format that is a folder
    suffix: ClassVar[str] = ""
    # the settings that it takes by name, with what they mean; None: any name
    takes: ClassVar[Mapping[str, str] | None] = {}

    def write(
        self, record: AnyRecord, path: Path, settings: Mapping[str, Any]
    ) -> list[Path]:
        """Write the file, or a folder that does not exist yet; returns what was written."""
        raise lacking(self, "write")


def export_names() -> dict[str, str]:
    """The name of every format as a user types it, with its class: github-action-benchmark."""
    names = registry.known("exports")
    return {registry.file_stem(name).replace("_", "-"): name for name in names}


def export_format(name: str) -> ExportFormat:
    """The format of that name; else a Deep500Error."""
    names = export_names()
    if name not in names:
        raise unknown("format", name, names)
    found = registry.find("exports", names[name])()
    assert isinstance(found, ExportFormat)
    return found


def missing_package(name: str, package: str) -> Deep500Error:
    """The error for a format whose package is not installed."""
    return Deep500Error(
        f"--to {name} needs the package {package}: install it with `pip install {package}`"
    )
