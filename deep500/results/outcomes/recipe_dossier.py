"""What the run of a recipe declares, for an audit: its metrics, how it was trained, its point of a scaling series."""

import math
from collections.abc import Mapping
from dataclasses import replace
from statistics import median

from ...contracts.dossier import (
    ConvergenceRecord,
    Dossier,
    IntervalBasis,
    MeasurementConduct,
    ReportedNumber,
    ScalingPoint,
    Split,
    SystemDescription,
    TrainingReport,
)
from ...contracts.metric import History
from ...contracts.metric_summary import MetricSummary
from ...hashing.canonical_form import form_hash
from ...metrics.steps_to_accuracy import StepsToAccuracy
from ...reports.text import clean
from ...training.outcome import PROCEDURE, histories
from ...training.recipe_blocks import Blocks, epochs_of
from ...training.recipe_numbers import RecipeNumbers
from ...training.recipe_plan import RecipePlan
from ..benching.bench_dossier import DERIVED, PLAN
from .conditions import loads, usable_cpus
from .data import RecipeRecord
from .remarks import cpu_costs, epochs_of_seeds

SAMPLES = "samples.jsonl"
ASSUMED = "assumed: few seeds, and a t distribution"
# metrics of the whole training, whose clock counts the steps with their waiting for data
OF_TRAINING = ("TimeToAccuracy", "TimeToQuality", "Throughput", "FlopRate")
INCLUDES = ["steps", "waiting for input data"]
EXCLUDES = ["building", "evaluation", "events"]
BY_STEPS = "the communication of every step"
SLOWEST = "the slowest rank, by its own clock"
NO_BOUND = "a run measures no peaks: `d5 bench operator` does"
FLOPS = "flops per example"
LEAST_RATIO = 0.6
LEAST_CPU_S = 0.2  # below, CPU times are too coarse for a share
SPLITS: Mapping[str, Split] = {
    "TestAccuracy": "test",
    "ValidationAccuracy": "validation",
    "TrainingAccuracy": "training",
}


def recipe_dossier(record: RecipeRecord) -> Dossier:
    """Everything that the run of a recipe declares; nothing before a seed has been trained to its end."""
    plan, blocks, derived = record.plan, record.blocks, record.derived
    if derived is None:
        return Dossier()
    runs = histories(blocks)
    numbers = []
    operations = _operations(runs)
    for index, metric in enumerate(derived.metrics):
        numbers += _number(metric, plan, index, operations)
    return Dossier(
        system=_system(record),
        number=numbers,
        training=[_training(plan, blocks, derived, runs)],
        point=[_point(plan, derived, runs)],
        convergence=_convergence(plan, derived, runs),
        measurement=[_conduct(plan, blocks, derived, runs)],
    )


def _number(
    metric: MetricSummary, plan: RecipePlan, index: int, operations: float | None
) -> list[ReportedNumber]:
    if metric.unavailable:
        return []
    number = ReportedNumber(
        name=clean(metric.name),
        system="ours",
        kind=metric.kind,
        value=metric.median,
        unit=clean(metric.unit),
        n=metric.n,
        low=metric.low,
        high=metric.high,
        refused=clean("; ".join(metric.notes)) or "one end is not known",
        summary="median",
        split=_split(metric),
        options=form_hash(plan.recipe.document["mutable"])[:12],
    )
    of_t = metric.method.startswith("t ")
    if metric.low is not None and metric.high is not None:
        basis: IntervalBasis = "normal distribution" if of_t else "ranks"
        number = replace(number, level=metric.level, interval=basis)
    if of_t:
        number = replace(number, normality=ASSUMED)
    if metric.name in OF_TRAINING:
        number = _timed_by_steps(number, plan)
    if metric.name == "FlopRate":
        number = replace(
            number,
            precision=_precision(plan),
            operations=operations,
            bound_reason=NO_BOUND,
        )
    place = f"metrics/{index}"
    return [
        number.at(
            DERIVED,
            place,
            value=f"{place}/median",
            interval=f"{place}/method",
            normality=f"{place}/method",
            refused=f"{place}/notes",
            split=f"{place}/name",
            options=f"{PLAN}: recipe/mutable",
            includes=f"{SAMPLES}: series/seconds",
        )
    ]


def _timed_by_steps(number: ReportedNumber, plan: RecipePlan) -> ReportedNumber:
    """A number of the whole training, with what its clock counts."""
    return replace(
        number,
        scope="application",
        includes=INCLUDES,
        excludes=EXCLUDES,
        ranks=_ranks(plan),
        synchronised=BY_STEPS,
        across_ranks=SLOWEST,
    )


def _ranks(plan: RecipePlan) -> int:
    return plan.distribution.ranks if plan.distribution else 1


def _precision(plan: RecipePlan) -> str:
    """The precision of the operations: what the recipe chose, or the default of all frameworks."""
    precision = plan.recipe.mutable.get("precision")
    if isinstance(precision, Mapping):
        return clean(precision.get("definition", "unknown"))
    return "float32"


def _operations(runs: list[History]) -> float | None:
    """Floating-point operations of a whole run; None where they were not counted."""
    counted = []
    for run in runs:
        per_example = run.counters.get(FLOPS)
        if per_example is not None:
            counted.append(per_example * run.samples)
    return median(counted) if counted else None


def _system(record: RecipeRecord) -> list[SystemDescription]:
    """How many CPUs there were and how many threads ran on them, with the reason that the report gives."""
    threads = record.plan.threads
    cpus = usable_cpus(record.environment)
    if not isinstance(threads, int) or cpus is None:
        return []
    by_default = "one thread by default, so that a seed gives the same bits again"
    system = SystemDescription(
        name="the CPUs",
        processors=cpus,
        processors_used=min(cpus, threads * _ranks(record.plan)),
        reason=by_default if threads == 1 else "as many as were asked for",
    )
    usable = "classes/benchmark measurement setup/usable cpus"
    return [
        system.at(
            PLAN,
            "",
            processors=f"environment.json: {usable}",
            processors_used="threads",
            reason="threads",
        )
    ]


def _split(metric: MetricSummary) -> Split | None:
    """The data that a quality was computed on."""
    if metric.kind != "quality":
        return None
    split = metric.settings.get("split")
    if split == "test":
        return "test"
    if split in ("validation", "train", "training"):
        return "validation" if split == "validation" else "training"
    return SPLITS.get(metric.name, "training" if "Loss" in metric.name else None)


def _training(
    plan: RecipePlan, blocks: Blocks, derived: RecipeNumbers, runs: list[History]
) -> TrainingReport:
    ledger = plan.ledger
    runs_before = None
    if isinstance(ledger, Mapping):
        runs_before = sum(count for count in ledger.values() if isinstance(count, int))
    training = TrainingReport(
        name="the training",
        seeds=len(derived.seeds),
        seeds_planned=len(plan.seeds),
        seeds_lost=len(derived.failed),
        seeds_lost_said=True,
        chosen="all are reported",
        tuning_runs=runs_before,
        tuning_known=plan.examples is not None,
        subject=form_hash(plan.recipe.document["fixed"])[:12],
        target=_target(derived),
        target_set="before",
        test_used_for=["reporting"],
        overlap=_overlap(plan),
        waits_timed=_waits_timed(plan, blocks),
        timed_share=_timed_share(plan, runs),
        evaluation_share=_evaluation_share(plan, blocks),
        example_size=_size(plan, "trained"),
        dataset_size=_size(plan, "dataset"),
    )
    return training.at(
        PLAN,
        "",
        seeds=f"{DERIVED}: seeds",
        seeds_planned="seeds",
        seeds_lost=f"{DERIVED}: failed",
        seeds_lost_said=f"{DERIVED}: failed",
        tuning_runs="ledger",
        target="recipe/metrics",
        overlap="data",
        waits_timed=f"{SAMPLES}: series/data",
        timed_share=f"{SAMPLES}: counters/training cpu seconds",
        evaluation_share=f"{SAMPLES}: counters/evaluation cpu seconds",
        example_size="values/trained",
        dataset_size="values/dataset",
    )


def _target(derived: RecipeNumbers) -> float | None:
    for metric in derived.metrics:
        if metric.kind == "quality" and metric.target is not None:
            return metric.target
    return None


def _overlap(plan: RecipePlan) -> int | None:
    """The examples of the test set if it is one of the sets that were trained with."""
    if "test" not in plan.data:
        return None
    if plan.data["test"] == plan.data.get("train"):
        return (plan.examples or {}).get("test", 1)
    return 0


def _waits_timed(plan: RecipePlan, blocks: Blocks) -> bool | None:
    """Whether every epoch says how long its steps waited for data; None for ranks, judges and version 0.1.0."""
    epochs = epochs_of(blocks)
    if not epochs or plan.distribution or plan.judge or not plan.fixed_hash:
        return None
    return all("data" in epoch.series for epoch in epochs)


def _timed_share(plan: RecipePlan, runs: list[History]) -> float | None:
    """The timed steps by the CPU time of training, per thread; more than 1 where others used the machine."""
    if plan.distribution or plan.threads != 1:
        return None
    steps = cpu = 0.0
    for run in runs:
        used = run.counters.get("training cpu seconds")
        if used is None:
            return None
        cpu += used - (run.counters.get("event cpu seconds") or 0.0)
        steps += math.fsum(run.step_seconds)
    if cpu < LEAST_CPU_S and steps >= LEAST_RATIO * cpu:
        return None
    return steps / cpu if cpu > 0 else None


def _evaluation_share(plan: RecipePlan, blocks: Blocks) -> float | None:
    costs = cpu_costs(plan, epochs_of_seeds(blocks))
    if costs is None or costs[0] <= 0:
        return None
    return costs[1] / costs[0]


def _size(plan: RecipePlan, which: str) -> float | None:
    size = (plan.values or {}).get(which)
    return None if size is None else float(size)


def _point(
    plan: RecipePlan, derived: RecipeNumbers, runs: list[History]
) -> ScalingPoint:
    distribution = plan.distribution
    virtual = distribution is not None and distribution.transport == "virtual"
    seconds = [math.fsum(run.step_seconds) for run in runs]
    samples = [float(run.samples or 0) for run in runs]
    by_name = {metric.name: metric for metric in derived.metrics}
    steps = by_name.get("StepsToAccuracy")
    time = by_name.get("TimeToAccuracy", by_name.get("TimeToQuality"))
    steps_needed = steps.median if steps else None
    point = ScalingPoint(
        name=f"{_ranks(plan)} ranks",
        series=clean(plan.recipe.name),
        processes=_ranks(plan),
        seconds=None if virtual else median(seconds),
        samples=median(samples),
        quality=_test_quality(derived),
        quality_lost=bool(derived.failed) and _asks_for_test_quality(derived),
        global_batch=_global_batch(plan),
        steps_to_target=int(steps_needed) if steps_needed is not None else None,
        seconds_to_target=time.median if time else None,
        target_asked=bool(time or steps),
        method=_method(plan),
    )
    return point.at(
        PLAN,
        "",
        processes="distribution/ranks",
        global_batch="distribution/global_batch",
        seconds=f"{DERIVED}: seconds",
        samples=f"{SAMPLES}: counters/samples",
        quality=f"{DERIVED}: metrics",
        steps_to_target=f"{DERIVED}: metrics",
        seconds_to_target=f"{DERIVED}: metrics",
    )


def _convergence(
    plan: RecipePlan, derived: RecipeNumbers, runs: list[History]
) -> list[ConvergenceRecord]:
    """After how many steps each seed reached the accuracy that the recipe asks for, if it asks for one."""
    by_name = {metric.name: metric for metric in derived.metrics}
    asked = by_name.get("StepsToAccuracy", by_name.get("TimeToAccuracy"))
    target = asked.settings.get("target") if asked else None
    batch = _global_batch(plan)
    if not isinstance(target, int | float) or batch is None:
        return []
    steps = [StepsToAccuracy(float(target)).value(run) for run in runs]
    reached = [count for count in steps if count is not None]
    name = clean(plan.recipe.name)
    record = ConvergenceRecord(
        name=f"{name}, until {target:g} %",
        subject=f"{name}, until {target:g} %",
        global_batch=batch,
        unit="steps",
        needed=reached,
        lost=max(0, len(plan.seeds) - len(reached)),
        dropped=1,
    )
    return [
        record.at(
            SAMPLES,
            "evaluation",
            global_batch=f"{PLAN}: recipe/mutable/batch_size",
            lost=f"{DERIVED}: failed",
        )
    ]


def _global_batch(plan: RecipePlan) -> int | None:
    """The examples of an update, on all ranks together."""
    if plan.distribution:
        return plan.distribution.global_batch
    batch = plan.recipe.mutable.get("batch_size")
    return batch if isinstance(batch, int) else None


def _asks_for_test_quality(derived: RecipeNumbers) -> bool:
    return any(_split(metric) == "test" for metric in derived.metrics)


def _test_quality(derived: RecipeNumbers) -> float | None:
    for metric in derived.metrics:
        if metric.kind == "quality" and _split(metric) == "test":
            return metric.median
    return None


def _conduct(
    plan: RecipePlan, blocks: Blocks, derived: RecipeNumbers, runs: list[History]
) -> MeasurementConduct:
    shares = [load.others for load in loads(blocks)]
    conduct = MeasurementConduct(
        name="the run",
        load=min(1.0, median(shares)) if shares else None,
        clock_ratio=_clock_ratio(blocks),
        method=_method(plan),
        subject=form_hash(plan.recipe.document["fixed"])[:12],
    )
    return conduct.at(
        SAMPLES,
        "",
        load="load/others",
        clock_ratio="counters/unix time",
        subject=f"{PLAN}: recipe/fixed",
    )


def _method(plan: RecipePlan) -> str:
    return f"procedure {PROCEDURE}, epochs {plan.epochs}"


def _clock_ratio(blocks: Blocks) -> float | None:
    """The time by the clock of the run by that of the machine, between epochs; None if too short to tell."""
    counted = passed = 0.0
    for epochs in epochs_of_seeds(blocks):
        first, last = epochs[0].counters, epochs[-1].counters
        resumed = any(epoch.resumed for epoch in epochs)
        if resumed or "unix time" not in first or "run seconds" not in first:
            continue
        counted += last["run seconds"] - first["run seconds"]
        passed += last["unix time"] - first["unix time"]
    if passed < 1.0 or counted <= 0:
        return None
    return counted / passed
