"""pyperf: `pyperf timeit -o result.json`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from ..contracts.dossier import (
    Dossier,
    MeasurementConduct,
    ReportedNumber,
    SetupDescription,
)
from ..contracts.log_format import LogFormat
from ..schema import decoded


@dataclass(frozen=True)
class PyperfRun:
    values: Sequence[float] = ()  # a run that only calibrates has none
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PyperfBenchmark:
    runs: Sequence[PyperfRun]
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PyperfSuite:
    benchmarks: Sequence[PyperfBenchmark]
    metadata: Mapping[str, Any] = field(default_factory=dict)


class Pyperf(LogFormat):
    """A file of pyperf, whose report is the mean with the standard deviation of all values."""

    def recognises(self, content: object) -> bool:
        if not isinstance(content, dict) or "version" not in content:
            return False
        benchmarks = content.get("benchmarks")
        if not isinstance(benchmarks, list) or not benchmarks:
            return False
        return isinstance(benchmarks[0], dict) and "runs" in benchmarks[0]

    def dossier(self, content: object, file: str) -> Dossier:
        suite = decoded(PyperfSuite, content, file)
        numbers = []
        common = dict(suite.metadata)
        for index, benchmark in enumerate(suite.benchmarks):
            common |= benchmark.metadata
            runs = [run.values for run in benchmark.runs if run.values]
            values = [value for run in runs for value in run]
            if not values:
                continue
            number = ReportedNumber(
                name=str(common.get("name", f"benchmark {index}")),
                kind="cost",
                value=fmean(values),
                unit=str(common.get("unit", "second")),
                n=len(values),
                # values of one process depend on each other
                raw_values=[fmean(run) for run in runs],
                interval="not an interval",
                summary="arithmetic mean",
                timed_calls=_loops(common),
            )
            numbers.append(number.at(file, f"benchmarks/{index}"))
        return Dossier(
            number=numbers,
            setup=[_setup(common, file)],
            measurement=[_conduct(common, file)],
        )


def _loops(metadata: Mapping[str, Any]) -> int | None:
    loops = metadata.get("loops")
    return loops if isinstance(loops, int) and loops > 0 else None


def _setup(metadata: Mapping[str, Any], file: str) -> SetupDescription:
    runtime = [_text(metadata, key) for key in ("platform", "python_version")]
    setup = SetupDescription(
        name="the set-up",
        processor=_text(metadata, "cpu_model_name"),
        memory=_text(metadata, "mem_total"),
        runtime=", ".join(text for text in runtime if text) or None,
        compiler=_text(metadata, "python_compiler"),
        inputs=_text(metadata, "command") or _text(metadata, "description"),
        measurement=_text(metadata, "timer"),
    )
    places = {"processor": "metadata/cpu_model_name", "memory": "metadata/mem_total"}
    return setup.at(file, "metadata", **places)


def _text(metadata: Mapping[str, Any], key: str) -> str | None:
    value = metadata.get(key)
    return str(value)[:200] if value is not None else None


def _conduct(metadata: Mapping[str, Any], file: str) -> MeasurementConduct:
    load, cpus = metadata.get("load_avg_1min"), metadata.get("cpu_count")
    share = None
    if isinstance(load, int | float) and isinstance(cpus, int) and cpus > 0:
        share = min(1.0, max(0.0, (load - 1) / cpus))
    conduct = MeasurementConduct(name="the measurement", load=share)
    return conduct.at(file, "metadata", load="metadata/load_avg_1min")
