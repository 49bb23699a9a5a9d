"""What an instrumented script declares, for an audit: the time of its steps, its qualities, how it went."""

from collections.abc import Mapping

from ...contracts.dossier import Dossier, MeasurementConduct, ReportedNumber, Split
from ...reports.text import clean
from .numbers import QualityNumbers, ScriptRecord, TimeSummary

DERIVED = "derived.json"


def script_dossier(record: ScriptRecord) -> Dossier:
    """Everything that an instrumented script declares; nothing before its first block."""
    derived = record.derived
    if derived is None:
        return Dossier()
    numbers = [_steps(derived.step_seconds)]
    for index, quality in enumerate(derived.qualities):
        numbers.append(_quality(quality, index))
    subject = clean(record.plan.name)
    conduct = MeasurementConduct(name="the script", subject=subject)
    return Dossier(number=numbers, measurement=[conduct.at(DERIVED)])


def _steps(steps: TimeSummary) -> ReportedNumber:
    has_ends = steps.low is not None
    number = ReportedNumber(
        name="time of a step",
        kind="cost",
        value=steps.median,
        unit="s",
        n=steps.n,
        low=steps.low,
        high=steps.high,
        level=steps.level if has_ends else None,
        interval="ranks" if has_ends else None,
        refused=clean("; ".join(steps.notes)) or "there is none",
        summary="median",
    )
    return number.at(DERIVED, "step_seconds", value="step_seconds/median")


def _quality(quality: QualityNumbers, index: int) -> ReportedNumber:
    splits: Mapping[str, Split] = {"test": "test", "validation": "validation"}
    number = ReportedNumber(
        name=clean(quality.name),
        kind="quality",
        value=quality.last,
        n=quality.n,
        split=splits.get(quality.split, "training"),
        refused="one run: a curve, no claim about others",
        summary="single value",
    )
    return number.at(DERIVED, f"qualities/{index}", value=f"qualities/{index}/last")
