"""hyperfine: `hyperfine --export-json result.json`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..contracts.dossier import Dossier, MeasurementConduct, ReportedNumber
from ..contracts.log_format import LogFormat
from ..schema import decoded


@dataclass(frozen=True)
class TimedCommand:
    command: str
    mean: float
    times: Sequence[float] | None = None
    exit_codes: Sequence[int | None] | None = None


@dataclass(frozen=True)
class TimedCommands:
    results: Sequence[TimedCommand]


class Hyperfine(LogFormat):
    """A file of hyperfine, which reports the mean with the standard deviation."""

    def recognises(self, content: object) -> bool:
        if not isinstance(content, dict) or set(content) != {"results"}:
            return False
        results = content["results"]
        if not isinstance(results, list) or not results:
            return False
        first: Any = results[0]
        return isinstance(first, dict) and {"command", "mean"} <= set(first)

    def dossier(self, content: object, file: str) -> Dossier:
        commands = decoded(TimedCommands, content, file)
        numbers = []
        failures = []
        for index, timed in enumerate(commands.results):
            number = ReportedNumber(
                name=timed.command,
                kind="cost",
                value=timed.mean,
                unit="s",
                n=len(timed.times) if timed.times is not None else None,
                raw_values=timed.times,
                interval="not an interval",
                summary="arithmetic mean",
            )
            place = f"results/{index}"
            numbers.append(
                number.at(file, place, value=f"{place}/mean", n=f"{place}/times")
            )
            failed = [code for code in timed.exit_codes or () if code != 0]
            if failed:
                failures.append(f"{timed.command[:60]}: {len(failed)} runs failed")
        conduct = MeasurementConduct(name="the measurement", failures=failures)
        place = "results/exit_codes"
        return Dossier(
            number=numbers,
            measurement=[conduct.at(file, "results", failures=place)],
        )
