"""asv: a file of `.asv/results/MACHINE/`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..contracts.dossier import (
    Dossier,
    MeasurementConduct,
    ReportedNumber,
    SetupDescription,
)
from ..contracts.log_format import LogFormat, limited_numbers
from ..schema import decoded

TIMES = ("time_", "timeraw_")


@dataclass(frozen=True)
class AsvResults:
    commit_hash: str
    result_columns: Sequence[str]
    results: Mapping[str, Sequence[Any]]
    env_name: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)


class Asv(LogFormat):
    """A file of asv: medians with binomial intervals at 99 %."""

    def recognises(self, content: object) -> bool:
        return isinstance(content, dict) and {"result_columns", "results"} <= set(
            content
        )

    def dossier(self, content: object, file: str) -> Dossier:
        results = decoded(AsvResults, content, file)
        return Dossier(
            number=limited_numbers(_all_numbers(results, file), file),
            setup=[_setup(results, file)],
            measurement=[_conduct(results, file)],
        )


def _all_numbers(results: AsvResults, file: str) -> Iterator[ReportedNumber]:
    for name, row in results.results.items():
        columns = dict(zip(results.result_columns, row, strict=False))
        yield from _numbers(name, columns, file)


def _numbers(name: str, columns: dict[str, Any], file: str) -> list[ReportedNumber]:
    values = _list(columns.get("result"))
    lows, highs = (_list(columns.get(f"stats_ci_99_{end}")) for end in "ab")
    repeats = _list(columns.get("stats_repeat"))
    is_time = name.rpartition(".")[2].startswith(TIMES)
    numbers = []
    for index, value in enumerate(values):
        if value is None:
            continue
        low, high = _at(lows, index), _at(highs, index)
        number = ReportedNumber(
            name=f"{name} {index}" if len(values) > 1 else name,
            kind="cost" if is_time else "count",
            value=_number(value),
            unit="s" if is_time else None,
            n=int(_at(repeats, index) or 0) or None,
            low=low,
            high=high,
            level=0.99 if low is not None else None,
            interval="ranks" if low is not None else None,
            summary="median",
        )
        place = f"results/{name}/{index}"
        numbers.append(number.at(file, place))
    return numbers


def _conduct(results: AsvResults, file: str) -> MeasurementConduct:
    """Whether every benchmark gave a result: asv writes nothing, or null, for one that failed."""
    failures = []
    for name, row in results.results.items():
        columns = dict(zip(results.result_columns, row, strict=False))
        values = columns.get("result")
        if values is None or None in _list(values):
            failures.append(f"{name[:60]} failed")
    conduct = MeasurementConduct(name="the measurement", failures=failures)
    return conduct.at(file, "results", failures="results")


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _at(values: list[Any], index: int) -> float | None:
    return _number(values[index]) if index < len(values) else None


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and abs(value) < 1e300:  # type: ignore[arg-type]
        return float(value)  # type: ignore[arg-type]
    return None


def _setup(results: AsvResults, file: str) -> SetupDescription:
    params = results.params

    def text(*keys: str) -> str | None:
        found = [str(params[key]) for key in keys if params.get(key)]
        return ", ".join(found)[:200] or None

    setup = SetupDescription(
        name="the set-up",
        processor=text("cpu", "num_cpu", "arch"),
        memory=text("ram"),
        runtime=text("os", "python") or results.env_name or None,
        source=results.commit_hash[:100],
    )
    return setup.at(file, "params", source="commit_hash")
