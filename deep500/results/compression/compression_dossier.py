"""What a benchmark of compression declares, for an audit: times of steps, ratios to the dense one, accuracies."""

from collections.abc import Mapping, Sequence

from ...contracts.dossier import (
    Dossier,
    MeasurementConduct,
    ReportedNumber,
    ReportedSpeedup,
    TrainingReport,
)
from ...reports.text import clean
from ..collectives.collective_dossier import DERIVED, FEW, LEVEL, basis, launches_load
from .data import DENSE, CompressionBlock, CompressionPlan
from .numbers import AccuracyNumbers, CompressionNumbers, MethodNumbers

SAMPLES = "samples.jsonl"
PLAN = "plan.json"


def compression_dossier(
    plan: CompressionPlan,
    blocks: Sequence[CompressionBlock],
    derived: CompressionNumbers | None,
) -> Dossier:
    """Everything that a benchmark of compression declares; nothing before it has numbers."""
    if derived is None:
        return Dossier()
    dense = {
        one.bandwidth: one.seconds.value
        for one in derived.methods
        if one.method == DENSE and one.seconds
    }
    numbers, speedups = [], []
    for index, method in enumerate(derived.methods):
        place = f"methods/{index}"
        if method.seconds is not None:
            numbers.append(_time(method, plan, f"{place}/seconds"))
        if method.to_dense is not None:
            speedups.append(_speedup(method, dense, f"{place}/to_dense"))
    for index, accuracy in enumerate(derived.accuracies):
        numbers.append(_accuracy(accuracy, f"accuracies/{index}"))
    return Dossier(
        number=numbers,
        speedup=speedups,
        training=[_training(plan, derived)],
        measurement=[_conduct(blocks)],
    )


def _name(method: MethodNumbers) -> str:
    network = f"{method.bandwidth:g} Mbit/s" if method.bandwidth else "no limit"
    return f"step of {clean(method.method)}, {network}"


def _time(method: MethodNumbers, plan: CompressionPlan, place: str) -> ReportedNumber:
    seconds = method.seconds
    assert seconds is not None
    number = ReportedNumber(
        name=_name(method),
        kind="cost",
        value=seconds.value,
        unit="s",
        n=seconds.n,
        low=seconds.low,
        high=seconds.high,
        level=LEVEL if seconds.low is not None else None,
        interval=basis(seconds),
        refused=FEW if seconds.low is None else None,
        summary="median",
        ranks=plan.ranks,
        synchronised="the communication of every step",
        across_ranks="the slowest rank, by its own clock",
        includes=["computation", "compression", "communication"],
    )
    return number.at(DERIVED, place, ranks=f"{PLAN}: ranks")


def _speedup(
    method: MethodNumbers, dense: Mapping[float, float], place: str
) -> ReportedSpeedup:
    ratio = method.to_dense
    assert ratio is not None
    speedup = ReportedSpeedup(
        name=f"{_name(method)}: its time, of that of sending everything",
        value=ratio.value,
        base=DENSE,
        base_kind="another system",
        base_value=dense.get(method.bandwidth),
        base_unit="s",
        n=ratio.n,
        low=ratio.low,
        high=ratio.high,
        averaged=1,
        verdict="inconclusive" if ratio.low is None else None,
    )
    return speedup.at(DERIVED, place)


def _accuracy(accuracy: AccuracyNumbers, place: str) -> ReportedNumber:
    number = ReportedNumber(
        name=f"test accuracy of {clean(accuracy.method)}",
        kind="quality",
        value=accuracy.median,
        unit="%",
        n=accuracy.seeds,
        refused=f"{accuracy.seeds} seeds, of which the report shows all: the smallest and the largest",
        summary="median",
        split="test",
    )
    return number.at(DERIVED, place, value=f"{place}/median", n=f"{place}/seeds")


def _training(plan: CompressionPlan, derived: CompressionNumbers) -> TrainingReport:
    seeds = [one.seeds for one in derived.accuracies]
    training = TrainingReport(
        name="the runs for the accuracy",
        seeds=min(seeds, default=0),
        seeds_planned=plan.seeds,
        seeds_lost=max(0, plan.seeds - min(seeds, default=0)),
        seeds_lost_said=True,
        chosen="all are reported",
        tuning_known=False,
        target=plan.target,
        target_set="before",
        test_used_for=["reporting"],
        input="from memory",
    )
    return training.at(
        PLAN,
        "",
        seeds=f"{DERIVED}: accuracies/seeds",
        seeds_lost=f"{DERIVED}: failures",
        seeds_planned="seeds",
    )


def _conduct(blocks: Sequence[CompressionBlock]) -> MeasurementConduct:
    shares = [block.times.others for block in blocks if block.times is not None]
    conduct = MeasurementConduct(name="the measurement", load=launches_load(shares))
    return conduct.at(SAMPLES, "", load="times/others")
