"""airspeed velocity: a file of `.asv/results/MACHINE/`, with medians, 99 % intervals and all samples."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..contracts.export_format import AnyRecord, ExportFormat
from ..errors import Deep500Error, Refused
from ..measure.machine import Environment
from ..measure.statistics.intervals import interval
from .rows import sample_rows

VERSION = 2  # of the format
LEVEL = 0.99  # of asv's intervals
COLUMNS = (
    "result",
    "params",
    "version",
    "stats_ci_99_a",
    "stats_ci_99_b",
    "stats_q_25",
    "stats_q_75",
    "stats_number",
    "stats_repeat",
    "samples",
)


class Asv(ExportFormat):
    """Times alone; the hash of the bundle stands where asv has the version of a benchmark."""

    suffix = ".json"

    def write(
        self, record: AnyRecord, path: Path, settings: Mapping[str, Any]
    ) -> list[Path]:
        results = {}
        for name, series in _series(record).items():
            results[_asv_name(name)] = _row(series, record)
        if not results:
            raise Deep500Error(
                f"{record.bundle} has no times, and asv's files are of times"
            )
        environment = Environment.from_json(record.environment)
        commit = environment.fact("benchmark source code", "git commit").value
        document = {
            "commit_hash": str(commit or record.hash),
            "env_name": "deep500",
            "params": {"bundle": record.hash},
            "env_vars": {},
            "result_columns": list(COLUMNS),
            "results": results,
            "version": VERSION,
        }
        text = json.dumps(document, allow_nan=False)
        path.write_text(text + "\n", encoding="utf-8")
        return [path]


def _series(record: AnyRecord) -> dict[str, dict[int, list[float]]]:
    """The times after the warm-up by name and process."""
    series: dict[str, dict[int, list[float]]] = {}
    for row in sample_rows(record):
        if row.quantity == "time" and row.levels.get("kept", True):
            process = int(row.levels.get("process", 0))
            series.setdefault(row.name, {}).setdefault(process, []).append(row.value)
    return series


def _row(series: Mapping[int, Sequence[float]], record: AnyRecord) -> list[Any]:
    import numpy as np

    pooled = np.concatenate([np.asarray(values) for values in series.values()])
    samples = [np.asarray(values) for values in series.values()]
    low = high = None
    try:
        found = interval(samples if len(samples) > 1 else samples[0], 0.5, LEVEL)
        low, high = [found.low], [found.high]
    except Refused:
        pass  # asv reads null where there is no interval
    lower, median, upper = np.quantile(pooled, (0.25, 0.5, 0.75))
    return [
        [float(median)],
        [],
        str(record.hash),
        low,
        high,
        [float(lower)],
        [float(upper)],
        [1],
        [len(pooled)],
        [[float(value) for value in pooled]],
    ]


def _asv_name(name: str) -> str:
    """A name that asv takes for that of a time."""
    return "deep500.time_" + re.sub(r"\W+", "_", name).strip("_")
