"""Comma-separated values: every sample is a row, with a column for each level."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..contracts.export_format import AnyRecord, ExportFormat
from .rows import COMMON, cells, level_columns, sample_rows


class Csv(ExportFormat):
    """Every raw value with its levels; empty cells where a row has no such level."""

    suffix = ".csv"

    def write(
        self, record: AnyRecord, path: Path, settings: Mapping[str, Any]
    ) -> list[Path]:
        columns = level_columns(record)
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([*COMMON, *columns.values()])
            for row in sample_rows(record):
                writer.writerow(cells(row, columns))
        return [path]
