"""JSON lines: every sample is an object, with its levels as an object inside."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..contracts.export_format import AnyRecord, ExportFormat
from .rows import sample_rows


class Jsonl(ExportFormat):
    """Every raw value with its levels."""

    suffix = ".jsonl"

    def write(
        self, record: AnyRecord, path: Path, settings: Mapping[str, Any]
    ) -> list[Path]:
        with path.open("w", encoding="utf-8") as file:
            for row in sample_rows(record):
                file.write(json.dumps(asdict(row), allow_nan=False) + "\n")
        return [path]
