"""The sentences of an evaluation section that say how a result was obtained, for the kinds whose stopping is known."""

from collections.abc import Iterator
from typing import Any

from ..contracts.result import Record
from ..measure.bench_plan import BenchPlan
from ..measure.numbers import BenchNumbers, EntryNumbers
from ..reports.tables import measured, percent, quantity
from ..reports.text import clean, counted
from ..training.recipe_numbers import RecipeNumbers
from ..training.recipe_plan import RecipePlan

AnyRecord = Record[Any, Any, Any]
NOTHING_KNOWN = "not recorded: how this kind of result was sampled"


def evaluation_sentences(record: AnyRecord) -> list[str]:
    """Plain sentences, one per thing that was measured, with n, interval and why sampling ended."""
    plan, derived = record.plan, record.derived
    if isinstance(plan, BenchPlan) and isinstance(derived, BenchNumbers):
        return [*_of_benchmark(plan, derived)]
    if isinstance(plan, RecipePlan) and isinstance(derived, RecipeNumbers):
        return [*_of_recipe(plan, derived)]
    if record.kind.name == "suite" and derived is not None:
        sentences = []
        for block in record.blocks:
            if block.plan:
                own = [m for m in derived.measurements if m.name == block.name]
                sentences += [
                    s for m in own for s in _of_benchmark(block.plan, m.numbers)
                ]
        return sentences
    return [NOTHING_KNOWN]


def _of_benchmark(plan: BenchPlan, numbers: BenchNumbers) -> Iterator[str]:
    for entry in numbers.entries:
        yield f"We collected {_sample(entry)} of {clean(entry.name)}{_until(plan, numbers, entry)}; {_median(entry)}."
    for c in numbers.comparisons:
        if c.ratio is not None and c.low is not None and c.high is not None:
            yield (
                f"{clean(c.other)} takes {c.ratio:.4g} times [{c.low:.4g}, {c.high:.4g}] as long as {clean(c.base)} "
                f"({percent(c.level)} interval, n = {c.n}), which we call {c.verdict} (margin {percent(c.margin)})."
            )


def _sample(entry: EntryNumbers) -> str:
    """How many values, of what, from how many processes."""
    values = "single calls" if entry.batch == 1 else f"means of {entry.batch} calls"
    processes = "1 process" if entry.processes == 1 else f"{entry.processes} processes"
    return f"n = {entry.n} {values} in {processes}"


def _until(plan: BenchPlan, numbers: BenchNumbers, entry: EntryNumbers) -> str:
    """Why sampling ended: the precision that was asked for, or the time."""
    what = "ratio" if numbers.comparisons else "median"
    if numbers.stopped == "precise":
        return f" until the {percent(plan.level)} interval was within {percent(plan.precision)} of the {what}"
    spent = f" for {plan.budget_s:.3g} s"
    if entry.low is None or entry.high is None:
        return spent
    reached = (entry.high / entry.low) ** 0.5 - 1 if entry.low > 0 else None
    if reached is None:
        return spent
    return f"{spent}, after which the interval of its median was within {percent(reached, 2)}"


def _median(entry: EntryNumbers) -> str:
    if entry.low is None:
        return f"their median is {measured(entry.median, None, None, entry.n)}, without an interval"
    median = measured(entry.median, entry.low, entry.high, entry.n, entry.level)
    return f"their median is {median} ({percent(entry.level)} interval)"


def _of_recipe(plan: RecipePlan, numbers: RecipeNumbers) -> Iterator[str]:
    seeds = counted(len(plan.seeds), "seed")
    failed = len(numbers.failed)
    lost = f", of which {failed} did not reach their end" if failed else ""
    yield f"We trained {clean(plan.recipe.name)} with {seeds} ({plan.epochs} epochs each){lost}."
    for metric in numbers.metrics:
        if metric.unavailable or metric.median is None:
            continue
        figure = quantity(
            metric.median,
            metric.low,
            metric.high,
            metric.n,
            clean(metric.unit),
            metric.level,
        )
        yield f"The median {clean(metric.name)} over the seeds is {figure} ({clean(metric.method)})."
