"""MLPerf Training: the lines that mllog writes (`:::MLLOG {…}`)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeGuard

from ..contracts.dossier import (
    ConvergenceRecord,
    Dossier,
    MeasurementConduct,
    ReportedNumber,
    TrainingReport,
)
from ..contracts.log_format import LogFormat
from ..errors import Deep500Error
from ..limited_files import limited_json
from ..schema import decoded

MARK = ":::MLLOG "
MOST_EVENTS = 200_000
LONGEST_LINE = 100_000
# whose progress is counted in examples, not in epochs; and of which four runs at either end are left out
IN_SAMPLES = (
    "llama2_70b_lora",
    "flux1",
    "llama31_405b",
    "llama31_8b",
    "gpt_oss_20b",
    "deepseekv3_671b",
    "qwen35_397b_grpo",
    "dlrmv4",
)
FOUR_DROPPED = "unet3d"
LARGEST = 1e18


@dataclass(frozen=True)
class MlperfEvent:
    key: str
    time_ms: float
    value: Any = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


class Mlperf(LogFormat):
    """The log of one run of MLPerf Training: its time to the target quality, and the qualities on the way."""

    form = "text"

    def recognises(self, content: object) -> bool:
        return MARK in str(content)[:100_000]

    def dossier(self, content: object, file: str) -> Dossier:
        first: dict[str, tuple[int, MlperfEvent]] = {}
        last: dict[str, tuple[int, MlperfEvent]] = {}
        for line, event in _events(str(content), file):
            first.setdefault(event.key, (line, event))
            last[event.key] = (line, event)
        return Dossier(
            number=[*_time(first, last, file), *_quality(last, file)],
            training=[_training(first, file)],
            convergence=_convergence(last, file),
            measurement=[_conduct(last, file)],
        )


def _events(text: str, file: str) -> Iterator[tuple[int, MlperfEvent]]:
    count = 0
    for line, content in enumerate(text.splitlines(), 1):
        _, mark, document = content.partition(MARK)
        if not mark:
            continue
        count += 1
        if count > MOST_EVENTS or len(document) > LONGEST_LINE:
            raise Deep500Error(
                f"{file}, line {line}: more than {MOST_EVENTS} events, or a line of {len(document)} characters"
            )
        where = f"{file}, line {line}"
        yield line, decoded(MlperfEvent, limited_json(document, where), where)


Unit = Literal["epochs", "samples"]
Events = dict[str, tuple[int, MlperfEvent]]


def _time(first: Events, last: Events, file: str) -> list[ReportedNumber]:
    if "run_start" not in first or "run_stop" not in last:
        return []
    line, stop = last["run_stop"]
    number = ReportedNumber(
        name="time of the run",
        kind="cost",
        value=(stop.time_ms - first["run_start"][1].time_ms) / 1000,
        unit="s",
        n=1,
        summary="single value",
        scope="application",
        includes=["reading data", "evaluation"],
        excludes=["initialisation"],
        refused="one run of several: audit all of them together",
    )
    return [number.at(file, f"line {line}")]


def _quality(last: Events, file: str) -> list[ReportedNumber]:
    numbers = []
    for key in ("eval_accuracy", "eval_error"):
        if key not in last:
            continue
        line, event = last[key]
        value = event.value
        number = ReportedNumber(
            name=key,
            kind="quality",
            value=value if isinstance(value, float) else None,
            n=1,
            split="validation",
            summary="single value",
            refused="one run",
        )
        numbers.append(number.at(file, f"line {line}"))
    return numbers


def _training(first: Events, file: str) -> TrainingReport:
    training = TrainingReport(
        name="the run", seeds=1, seeds_planned=1, input="from storage"
    )
    line = first["seed"][0] if "seed" in first else 0
    return training.at(file, f"line {line}")


def _conduct(last: Events, file: str) -> MeasurementConduct:
    stop = last.get("run_stop")
    status = stop[1].metadata.get("status") if stop else None
    conduct = MeasurementConduct(name="the run", complete=status == "success")
    return conduct.at(file, f"line {stop[0]}" if stop else "run_stop")


def _convergence(last: Events, file: str) -> list[ConvergenceRecord]:
    """How far the last evaluation before the end of the run was, if that reached its target."""
    looks = [last[key] for key in ("eval_accuracy", "eval_error") if key in last]
    if not looks or "submission_benchmark" not in last:
        return []
    line, look = max(looks, key=lambda each: each[0])
    subject = str(last["submission_benchmark"][1].value)
    unit: Unit = "samples" if subject in IN_SAMPLES else "epochs"
    progress = look.metadata.get("samples_count" if unit == "samples" else "epoch_num")
    if not is_number(progress):
        return []
    stop = last.get("run_stop")
    reached = bool(stop and stop[1].metadata.get("status") == "success")
    batch = last["global_batch_size"][1].value if "global_batch_size" in last else None
    record = ConvergenceRecord(
        name=subject,
        subject=subject,
        role="ours",
        global_batch=batch if isinstance(batch, int) and batch > 0 else None,
        unit=unit,
        needed=[float(progress)] if reached else [],
        lost=0 if reached else 1,
        dropped=dropped(subject),
    )
    return [record.at(file, f"line {line}")]


def dropped(benchmark: str) -> int:
    """How many of the fastest, and of the slowest, runs MLPerf leaves out."""
    return 4 if benchmark == FOUR_DROPPED else 1


def is_number(value: object) -> TypeGuard[float]:
    """Whether it is a finite number that counts something, and no truth value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value < LARGEST
