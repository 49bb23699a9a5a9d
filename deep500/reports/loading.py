"""From a bundle on disk to what a report shows."""

from pathlib import Path

from ..bundle import Bundle, read
from ..errors import Deep500Error
from ..measure.results import Result
from .data import ReportData
from .outcome_data import OutcomeData, outcome_data


def load(path: str | Path) -> ReportData | OutcomeData:
    """Read a bundle of any kind for its report."""
    found = read(path)
    return outcome_data(found) if found.kind == "recipe" else _bench(found, path)


def report_data(path: str | Path) -> ReportData:
    """Read a measurement; an unfinished one is shown from the samples it has, and says so."""
    return _bench(read(path), path)


def _bench(found: Bundle, path: str | Path) -> ReportData:
    result = Result.from_bundle(found)
    if not result.blocks:
        raise Deep500Error(f"{path} holds no samples yet: nothing was measured before it ended")
    derived = found.documents.get("derived.json", result.derived if not found.finished else {})
    environment, sensors = (
        found.documents.get("environment.json"),
        found.documents.get("sensors.json"),
    )
    if not isinstance(derived, dict) or not isinstance(environment, dict):
        raise Deep500Error(
            f"{path}: derived.json or environment.json is not an object; see `d5 verify`"
        )
    problems = [*found.problems] + (
        [] if found.finished else ["unfinished: the run was ended before its time"]
    )
    samples = {
        name: [p.seconds[i] for p in result.processes] for i, name in enumerate(result.names)
    }
    discarded = {
        name: [p.discarded[i] for p in result.processes] for i, name in enumerate(result.names)
    }
    return ReportData(
        title=" · ".join(result.names)[:100],
        plan=result.plan,
        environment=environment,
        derived=derived,
        samples=samples,
        discarded=discarded,
        bundle=str(path),
        problems=problems,
        hash=found.hash,
        sensors=sensors if isinstance(sensors, dict) else None,
    )
