"""What a benchmark declares, for an audit: its times and rates, its comparisons, how it was measured."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...contracts.dossier import (
    Checked,
    Dossier,
    IntervalBasis,
    MeasurementConduct,
    ReportedNumber,
    ReportedSpeedup,
    SuiteReport,
)
from ...hashing.canonical_form import form_hash
from ...measure.agreement import VISIT_NS
from ...measure.bench_blocks import TimedBlock
from ...measure.bench_plan import BenchPlan, PlannedEntry
from ...measure.numbers import (
    BenchNumbers,
    EntryComparison,
    EntryNumbers,
    Rate,
)
from ...reports.text import clean
from ...schema import encoded

DERIVED = "derived.json"
PLAN = "plan.json"
ASSUMED = "assumed: few values, and a t distribution"
OVERWRITTEN = "overwritten with others"
# settings that change what is measured
SETTINGS = ("cache", "control", "level", "margin", "precision", "synchronised")


def bench_dossier(
    plan: BenchPlan, blocks: Sequence[TimedBlock], derived: BenchNumbers | None
) -> Dossier:
    """Everything that a benchmark declares; nothing before it has numbers."""
    if derived is None:
        return Dossier()
    numbers = []
    for index, (entry, planned) in enumerate(
        zip(derived.entries, plan.entries, strict=True)
    ):
        numbers.append(_time(entry, planned, plan, index))
        numbers += _rates(entry, planned, plan, index)
    entries = {entry.name: (i, entry) for i, entry in enumerate(derived.entries)}
    speedups = []
    for index, comparison in enumerate(derived.comparisons):
        speedups.append(_speedup(comparison, entries, index))
    return Dossier(
        number=numbers,
        speedup=speedups,
        measurement=[_conduct(plan, blocks, derived)],
        suite=_suite(plan, derived),
    )


def interval_basis(method: str | None) -> IntervalBasis:
    """What the interval of a method stands on."""
    if method and (method.startswith("t ") or "t on" in method):
        return "normal distribution"
    return "ranks"


def _time(
    entry: EntryNumbers, planned: PlannedEntry, plan: BenchPlan, index: int
) -> ReportedNumber:
    basis = interval_basis(entry.method)
    shown = [each.q for each in entry.quantiles if each.value is not None]
    inputs = plan.about.inputs or ""
    work = planned.work or {}
    modes = len(entry.modes) if entry.modes else 1
    checked: Checked | None = None
    if "framework" in work or "checked" in work:
        checked = "the timed function, in other calls"
    number = ReportedNumber(
        name=clean(entry.name),
        kind="cost",
        value=entry.median,
        unit="s",
        n=entry.n,
        low=entry.low,
        high=entry.high,
        level=entry.level if entry.low is not None else None,
        interval=basis if entry.low is not None else None,
        normality=ASSUMED if basis == "normal distribution" else None,
        refused=_refusal(entry),
        summary="median",
        quantiles=shown,
        modes=modes,
        scope="kernel" if "operator" in work else None,
        inputs="the same in every call" if inputs else None,
        checked=checked,
        fresh_inputs_checked=(OVERWRITTEN in inputs) or None,
        after_clock=entry.after,
        timed_calls=entry.batch,
    )
    place = f"entries/{index}"
    return number.at(
        DERIVED,
        place,
        value=f"{place}/median",
        interval=f"{place}/method",
        refused=f"{place}/notes",
        after_clock=f"{place}/after",
        timed_calls=f"{place}/batch",
        inputs=f"{PLAN}: about/inputs",
        fresh_inputs_checked=f"{PLAN}: about/inputs",
        checked=f"{PLAN}: {place}/work",
    )


def _refusal(entry: EntryNumbers) -> str | None:
    if entry.low is not None:
        return None
    return clean("; ".join(entry.notes)) or "there are too few values"


def _rates(
    entry: EntryNumbers, planned: PlannedEntry, plan: BenchPlan, index: int
) -> list[ReportedNumber]:
    """The rates of operations and of bytes, each with the measured peak of the machine."""
    if entry.rates is None:
        return []
    work = planned.work or {}
    dtype = work.get("dtype")
    peaks = plan.about.peaks_for(work) or {}
    numbers = []
    flops = _rate(entry, work, "flops", "flop/s", entry.rates.flops)
    if flops is not None:
        flops = replace(flops, precision=dtype, operations=work.get("flops"))
        peak = peaks.get("flops", {}).get(dtype)
        if peak:
            flops = replace(
                _bounded(flops, peak["value"], peak["what"]), bound_precision=dtype
            )
        numbers.append(_placed(flops, index, "flops"))
    moved = _rate(entry, work, "bytes", "B/s", entry.rates.bytes)
    if moved is not None:
        moved = replace(moved, bound_soft=True)
        if peak := peaks.get("bandwidth"):
            moved = _bounded(moved, peak["value"], peak["what"])
        numbers.append(_placed(moved, index, "bytes"))
    return numbers


def _rate(
    entry: EntryNumbers,
    work: Mapping[str, object],
    key: str,
    unit: str,
    rate: Rate | None,
) -> ReportedNumber | None:
    """A rate without its peak; None if it is not known."""
    if rate is None or rate.value is None:
        return None
    assert entry.rates is not None
    number = ReportedNumber(
        name=f"{clean(entry.name)}, {key}",
        kind="rate",
        value=rate.value,
        unit=unit,
        n=entry.n,
        low=rate.low,
        high=rate.high,
        normality=ASSUMED,
        refused=_refusal(entry),
        summary="median",
        scope="kernel" if "operator" in work else None,
        sparse=False,
        bound_reason=entry.rates.no_roofline or "there is no peak of this dtype",
        bound_soft=False,
    )
    if rate.low is None:
        return number
    basis = interval_basis(entry.method)
    return replace(number, level=entry.level, interval=basis)


def _bounded(number: ReportedNumber, value: float, name: str) -> ReportedNumber:
    return replace(number, bound=value, bound_name=clean(name))


def _placed(number: ReportedNumber, index: int, key: str) -> ReportedNumber:
    of_plan = f"{PLAN}: entries/{index}/work"
    return number.at(
        DERIVED,
        f"entries/{index}/rates/{key}",
        precision=f"{of_plan}/dtype",
        operations=f"{of_plan}/{key}",
        bound=f"{PLAN}: about/peaks",
        n=f"entries/{index}/n",
    )


def _speedup(
    comparison: EntryComparison,
    entries: Mapping[str, tuple[int, EntryNumbers]],
    index: int,
) -> ReportedSpeedup:
    base_index, base = entries[comparison.base]
    meaning = comparison.meaning
    speedup = ReportedSpeedup(
        name=f"{clean(comparison.other)} against {clean(comparison.base)}",
        value=comparison.ratio,
        base=clean(comparison.base),
        base_kind="another system",
        base_value=base.median,
        base_unit="s",
        n=comparison.n,
        low=comparison.low,
        high=comparison.high,
        averaged=1,
        of_medians=meaning.of_medians.ratio if meaning else None,
        of_means=meaning.of_means.ratio if meaning else None,
        verdict=comparison.verdict,
    )
    place = f"comparisons/{index}"
    return speedup.at(
        DERIVED,
        place,
        value=f"{place}/ratio",
        base_value=f"entries/{base_index}/median",
        base_unit=f"entries/{base_index}/unit",
        of_medians=f"{place}/of_medians/ratio",
        of_means=f"{place}/of_means/ratio",
    )


def _conduct(
    plan: BenchPlan, blocks: Sequence[TimedBlock], derived: BenchNumbers
) -> MeasurementConduct:
    load = derived.interference.others if derived.interference else None
    control = derived.control
    settings = {name: getattr(plan, name) for name in SETTINGS}
    entries = [[each.name, each.text, each.setup] for each in plan.entries]
    conduct = MeasurementConduct(
        name="the measurement",
        load=min(load, 1.0) if load is not None else None,
        control_low=control.low if control else None,
        control_high=control.high if control else None,
        clock_ratio=_clock_ratio(blocks),
        method=f"procedure {derived.procedure}, settings {form_hash(encoded(settings))[:12]}",
        subject=form_hash(entries)[:12],
    )
    return conduct.at(
        DERIVED,
        "",
        load="interference/others",
        control_low="control/low",
        control_high="control/high",
        clock_ratio="samples.jsonl: clocks",
    )


def _clock_ratio(blocks: Sequence[TimedBlock]) -> float | None:
    """Timed and untimed visits by the time that the process says it spent, of blocks long enough to tell."""
    timed = spent = visits = 0
    for block in blocks:
        visits += sum(map(len, block.orders))
        if block.clocks:
            timed += block.clocks.timed_ns + block.clocks.untimed_ns
            spent += block.clocks.spent_ns
    loop_ns = visits * VISIT_NS
    if spent < 100_000_000 or not timed:
        return None
    return min(1.0, (timed + loop_ns) / spent)


def _suite(plan: BenchPlan, derived: BenchNumbers) -> list[SuiteReport]:
    left_out = plan.about.left_out
    reasons = [clean(reason) for reason in left_out.values() if reason]
    shown = len(derived.entries)
    suite = SuiteReport(
        name="entries",
        members=shown + len(left_out),
        shown=shown,
        reason="; ".join(reasons)[:200] or None,
    )
    return [suite.at(PLAN, "about/left_out", shown="entries", members="entries")]
