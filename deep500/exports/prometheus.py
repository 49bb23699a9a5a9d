"""Prometheus' text format, for the node exporter's folder of text files or a push gateway."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..contracts.dossier import ReportedNumber
from ..contracts.export_format import AnyRecord, ExportFormat
from .summaries import reported_numbers

GAUGES = {
    "deep500_result": ("value", "What was measured, in the unit of its label."),
    "deep500_result_low": ("low", "The lower end of its confidence interval."),
    "deep500_result_high": ("high", "The upper end of its confidence interval."),
    "deep500_result_samples": ("n", "How many values it summarises."),
}


class Prometheus(ExportFormat):
    """Four gauges for each number: value, low, high and samples."""

    suffix = ".prom"

    def write(
        self, record: AnyRecord, path: Path, settings: Mapping[str, Any]
    ) -> list[Path]:
        numbers = reported_numbers(record)
        lines = []
        for gauge, (field, meaning) in GAUGES.items():
            lines += _gauge(gauge, field, meaning, numbers, record)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return [path]


def _gauge(
    gauge: str,
    field: str,
    meaning: str,
    numbers: Sequence[ReportedNumber],
    record: AnyRecord,
) -> list[str]:
    lines = [f"# HELP {gauge} {meaning}", f"# TYPE {gauge} gauge"]
    for number in numbers:
        value = getattr(number, field)
        if value is None:
            continue
        labels = {
            "name": number.name,
            "unit": number.unit or "",
            "kind": record.kind.name,
            "bundle": (record.hash or "")[:12],
        }
        pairs = [f'{key}="{_escaped(text)}"' for key, text in labels.items()]
        lines.append(f"{gauge}{{{','.join(pairs)}}} {value!r}")
    return lines


def _escaped(text: str) -> str:
    """A label's value, as the format asks for it."""
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
