"""torch.utils.benchmark: measurements written as JSON, with the names of their fields; never as pickles."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from ..contracts.dossier import Dossier, ReportedNumber
from ..contracts.log_format import LogFormat
from ..schema import Positive, decoded


@dataclass(frozen=True)
class TorchTask:
    stmt: str
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    num_threads: Positive | None = None


@dataclass(frozen=True)
class TorchMeasurement:
    number_per_run: Positive
    raw_times: Sequence[float]
    task_spec: TorchTask


class TorchBenchmark(LogFormat):
    """One measurement or a list of them; the report of torch is the median with its quartiles."""

    def recognises(self, content: object) -> bool:
        first: Any = content[0] if isinstance(content, list) and content else content
        return isinstance(first, dict) and {"raw_times", "number_per_run"} <= set(first)

    def dossier(self, content: object, file: str) -> Dossier:
        documents = content if isinstance(content, list) else [content]
        numbers = []
        for index, document in enumerate(documents):
            measured = decoded(TorchMeasurement, document, f"{file}: {index}")
            calls = measured.number_per_run
            times = [time / calls for time in measured.raw_times]
            task = measured.task_spec
            number = ReportedNumber(
                name=task.sub_label or task.label or task.stmt[:100],
                kind="cost",
                value=median(times) if times else None,
                unit="s",
                n=len(times),
                raw_values=times,
                interval="not an interval",
                summary="median",
                timed_calls=calls,
            )
            place = f"{index}/raw_times"
            numbers.append(
                number.at(file, place, timed_calls=f"{index}/number_per_run")
            )
        return Dossier(number=numbers)
