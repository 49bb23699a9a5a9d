"""github-action-benchmark: `customSmallerIsBetter`, and beside it `customBiggerIsBetter` for rates and qualities."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..contracts.dossier import ReportedNumber
from ..contracts.export_format import AnyRecord, ExportFormat
from .summaries import is_lower_better, reported_numbers


class GithubActionBenchmark(ExportFormat):
    """A list of name, unit, value and range; that action's alarm looks at the value alone."""

    suffix = ".json"

    def write(
        self, record: AnyRecord, path: Path, settings: Mapping[str, Any]
    ) -> list[Path]:
        numbers = reported_numbers(record)
        smaller = [number for number in numbers if is_lower_better(number)]
        bigger = [number for number in numbers if not is_lower_better(number)]
        written = []
        for group, file in (
            (smaller, path),
            (bigger, path.with_stem(f"{path.stem}-bigger")),
        ):
            if group:
                text = json.dumps(_entries(group, record), indent=1, allow_nan=False)
                file.write_text(text + "\n", encoding="utf-8")
                written.append(file)
        return written


def _entries(
    numbers: Sequence[ReportedNumber], record: AnyRecord
) -> list[dict[str, Any]]:
    entries = []
    for number in numbers:
        entry: dict[str, Any] = {
            "name": number.name,
            "unit": number.unit or "",
            "value": number.value,
        }
        if number.low is not None and number.high is not None:
            entry["range"] = f"[{number.low:.6g}, {number.high:.6g}]"
        entry["extra"] = f"n = {number.n}\nbundle {record.hash}"
        entries.append(entry)
    return entries
