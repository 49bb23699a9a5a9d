"""MLPerf's log (`:::MLLOG`) of every seed of a recipe, for tools that read it. It is no MLPerf result.

The times are those of the run, as its bundle has them. A checker of MLPerf knows only its own benchmarks: their names,
and what else they ask for, are given with `--set benchmark=resnet --set submission_status=research`.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..contracts.export_format import AnyRecord, ExportFormat
from ..errors import Deep500Error
from ..logs.mlperf import MARK
from ..measure.machine import Environment
from ..training.recipe_blocks import Epoch, SeedEnd
from ..training.recipe_plan import RecipePlan

NOT_SUBMITTED = "not a submission"
PERCENT = 100.0


@dataclass(frozen=True)
class MllogEvent:
    """One line of the log; `kind` is POINT_IN_TIME, INTERVAL_START or INTERVAL_END."""

    key: str
    time_ms: int
    value: Any = None
    metadata: Mapping[str, Any] | None = None
    kind: str = "POINT_IN_TIME"

    @property
    def line(self) -> str:
        document = {
            "namespace": "",
            "time_ms": self.time_ms,
            "event_type": self.kind,
            "key": self.key,
            "value": self.value,
            "metadata": {"file": "samples.jsonl", "lineno": 0, **(self.metadata or {})},
        }
        return MARK + json.dumps(document, allow_nan=False)


class Mllog(ExportFormat):
    """A folder with a log for each seed; any `--set KEY=VALUE` becomes a line of its own or replaces one."""

    suffix = ""
    takes = None

    def write(
        self, record: AnyRecord, path: Path, settings: Mapping[str, Any]
    ) -> list[Path]:
        if record.kind.name != "recipe":
            raise Deep500Error(
                f"--to mllog is for the run of a recipe, and {record.bundle} is of kind {record.kind.name!r}"
            )
        if path.exists() and any(path.iterdir()):
            raise Deep500Error(f"{path} is not empty: choose another folder")
        path.mkdir(parents=True, exist_ok=True)
        written = []
        for number, seed in enumerate(record.plan.seeds):
            events = [*_seed_events(record, seed, settings)]
            if events:
                file = path / f"result_{number}.txt"
                lines = "\n".join(event.line for event in events)
                file.write_text(lines + "\n", encoding="utf-8")
                written.append(file)
        if not written:
            raise Deep500Error(
                f"{record.bundle} has no seed that was trained to its end"
            )
        return written


def _seed_events(
    record: AnyRecord, seed: int, settings: Mapping[str, Any]
) -> Iterator[MllogEvent]:
    epochs = [b for b in record.blocks if isinstance(b, Epoch) and b.seed == seed]
    ends = [b for b in record.blocks if isinstance(b, SeedEnd) and b.seed == seed]
    if not epochs or not ends:
        return
    if "unix time" not in epochs[0].counters:
        raise Deep500Error(f"{record.bundle} does not say when its epochs ended")
    first = epochs[0].counters
    began_ms = _ms(first["unix time"] - first.get("run seconds", 0.0))
    building_ms = _ms(ends[0].build_seconds)
    yield from _header(record, seed, began_ms - building_ms, settings)
    yield MllogEvent("init_stop", began_ms, kind="INTERVAL_END")
    yield MllogEvent("run_start", began_ms, kind="INTERVAL_START")
    begin_ms, evaluated_s = began_ms, 0.0
    for epoch in epochs:
        yield from _epoch_events(record.plan, epoch, begin_ms, evaluated_s)
        begin_ms = _ms(epoch.counters["unix time"])
        evaluated_s = epoch.counters.get("evaluation seconds", 0.0)
    status = "aborted" if ends[0].ended else "success"
    metadata = {"status": status, "samples_count": _samples(epochs[-1])}
    yield MllogEvent("run_stop", begin_ms, None, metadata, "INTERVAL_END")


def _header(
    record: AnyRecord, seed: int, time_ms: int, settings: Mapping[str, Any]
) -> Iterator[MllogEvent]:
    plan: RecipePlan = record.plan
    environment = Environment.from_json(record.environment)
    cpu = environment.fact("hardware compute", "cpu model").value
    sizes = plan.examples or {}
    values: dict[str, Any] = {
        "submission_benchmark": plan.recipe.name,
        "submission_division": "open",
        "submission_org": NOT_SUBMITTED,
        "submission_platform": str(cpu or "not recorded"),
        "submission_status": "research",
        "cache_clear": True,
        "seed": seed,
        "global_batch_size": plan.recipe.mutable.get("batch_size"),
        "train_samples": sizes.get("train"),
        "eval_samples": sizes.get("validation"),
    }
    for name, value in settings.items():
        values["submission_benchmark" if name == "benchmark" else name] = value
    for key, value in values.items():
        if value is not None:
            yield MllogEvent(key, time_ms, value)
    yield MllogEvent("init_start", time_ms, kind="INTERVAL_START")


def _epoch_events(
    plan: RecipePlan, epoch: Epoch, begin_ms: int, evaluated_s: float
) -> Iterator[MllogEvent]:
    """An epoch, and the evaluation in its end."""
    counters = epoch.counters
    end_ms = _ms(counters["unix time"])
    took_s = counters.get("evaluation seconds", evaluated_s) - evaluated_s
    evaluation_ms = max(begin_ms, end_ms - _ms(took_s))
    place = {"epoch_num": epoch.evaluation.epoch, "samples_count": _samples(epoch)}
    yield MllogEvent("epoch_start", begin_ms, None, place, "INTERVAL_START")
    yield MllogEvent("eval_start", evaluation_ms, None, place, "INTERVAL_START")
    share = _main_quality(plan, epoch)
    if share is not None:
        yield MllogEvent("eval_accuracy", end_ms, share, place)
    yield MllogEvent("eval_stop", end_ms, None, place, "INTERVAL_END")
    yield MllogEvent("epoch_stop", end_ms, None, place, "INTERVAL_END")


def _main_quality(plan: RecipePlan, epoch: Epoch) -> float | None:
    """The main quality of the task; a percentage as a share of 1."""
    qualities = epoch.evaluation.validation
    name, unit = next(iter(qualities)), "%"
    if plan.task:
        name, unit = plan.task.qualities[0].name, plan.task.qualities[0].unit
    value = qualities.get(name)
    if value is None:
        return None
    return value / PERCENT if unit == "%" else value


def _samples(epoch: Epoch) -> int:
    return int(epoch.counters.get("samples", 0))


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
