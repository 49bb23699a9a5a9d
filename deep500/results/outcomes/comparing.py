"""Two runs of recipes side by side: metric by metric over the seeds, and in what the recipes differ."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ...contracts.result import Contrast, Record
from ...errors import Deep500Error
from ...measure.machine import Environment, environment_difference
from ...reports.blocks import Bullets, Table
from ...reports.tables import Number, count, number, percent, ratio
from ...reports.text import Text, VerdictWord
from .metric_contrast import TIMED, MetricContrast, compare_metric
from .metric_text import Metric, amount, metric_name
from .recipe_differences import (
    changed_sources,
    difference_blocks,
    fixed_hash,
    recipe_differences,
    recipe_identity,
)
from .splitting import split_blocks, split_data, time_splits

MACHINE = (
    "cpu model",
    "logical cpus",
    "physical cores",
    "memory size (GiB)",
    "accelerators",
)
Pairs = Sequence[tuple[Metric, Metric]]  # of one metric in A and in B


def contrast(a: Record, b: Record, margin: float, level: float) -> Contrast:
    """B against A. Seeds that both have are paired: they began with the same weights and saw the same order."""
    if not 0 <= margin < math.inf:
        raise Deep500Error(
            f"the margin is {margin!r}: give a share from 0 up, such as 0.02 for 2 %"
        )
    pairs = _shared_metrics(a, b)
    seeds_a = _seeds(a)
    seeds_b = _seeds(b)
    answers = [
        compare_metric(of_a, of_b, seeds_a, seeds_b, margin, level)
        for of_a, of_b in pairs
    ]
    differences = recipe_differences(a, b)
    warnings = _warnings(a, b, pairs, differences["run"])
    splits = time_splits(a, b, level)
    data = {
        "recipes": {"a": recipe_identity(a), "b": recipe_identity(b)},
        "comparisons": [asdict(answer) for answer in answers],
        "level": level,
        "margin": margin,
        "fixed_equal": fixed_hash(a) == fixed_hash(b),
        "sources_differ": changed_sources(a, b),
        "differences": differences,
        "warnings": warnings,
        "splits": split_data(splits),
    }
    notes = []
    worse = []
    for answer in answers:
        if answer.note:
            notes.append(f"{answer.name}: {answer.note}")
        if answer.verdict == "worse":
            worse.append(answer.name)
    method = _method(answers, margin, level)
    blocks = [
        _metric_table(pairs, answers),
        Bullets([*notes, *warnings, method]),
        *split_blocks(splits),
        *difference_blocks(differences, a, b),
    ]
    return Contrast(data, blocks, worse)


def _metric_table(pairs: Pairs, answers: Sequence[MetricContrast]) -> Table:
    rows = []
    for (of_a, of_b), answer in zip(pairs, answers, strict=True):
        with_count = of_a["n"] != of_b["n"]
        row = [
            answer.name,
            amount(of_a, with_count),
            amount(of_b, with_count),
            _effect(answer),
            VerdictWord(answer.verdict),
        ]
        rows.append(row)
    return Table(["median over seeds", "A", "B", "B against A", "B is"], rows)


def _shared_metrics(a: Record, b: Record) -> list[tuple[Metric, Metric]]:
    """The metrics that both runs have; raises a Deep500Error if there are none."""
    metrics_a = _metrics_by_name(a)
    metrics_b = _metrics_by_name(b)
    pairs = []
    for name, metric in metrics_a.items():
        if name in metrics_b:
            pairs.append((metric, metrics_b[name]))
    if not pairs:
        names_a = ", ".join(metrics_a) or "no metric"
        names_b = ", ".join(metrics_b) or "no metric"
        raise Deep500Error(
            f"nothing to compare: A has {names_a}; B has {names_b}"
        )
    return pairs


def _metrics_by_name(record: Record) -> dict[str, Metric]:
    if not record.derived:
        return {}
    return {metric_name(metric): metric for metric in record.derived["metrics"]}


def _seeds(record: Record) -> list[int]:
    return record.derived["seeds"] if record.derived else []


def _effect(answer: MetricContrast) -> Text:
    if answer.value is None:
        return Number("refused", n=count(answer.n))
    if answer.effect == "ratio":
        return ratio(answer.value, answer.low, answer.high, answer.n)
    difference = _signed(answer.value)
    low = _signed(answer.low)
    high = _signed(answer.high)
    value = f"{difference} {answer.unit}".rstrip()
    return Number(value, f"[{low}, {high}]", count(answer.n))


def _signed(x: float | None) -> str:
    if x is not None and x > 0:
        return f"+{number(x)}"
    return number(x)


def _method(
    answers: Sequence[MetricContrast], margin: float, level: float
) -> str:
    """How the intervals were computed, and what counts as the same."""
    pairing = "not paired: the seeds differ"
    if answers[0].paired:
        pairing = "paired seed by seed"
    methods = {answer.method for answer in answers if answer.value is not None}
    by = ""
    if methods:
        by = f" (by {', '.join(sorted(methods))})"
    return (
        f"{pairing}; each interval holds by itself at {percent(level)}{by}; "
        f"up to {percent(margin)} of A's value counts as the same"
    )


def _warnings(
    a: Record, b: Record, pairs: Pairs, run_differences: Sequence[Sequence[Any]]
) -> list[str]:
    """Why a difference may come from something else than the recipes."""
    warnings = []
    timed_names = [
        metric_name(metric) for metric, _ in pairs if metric["kind"] in TIMED
    ]
    timed = ", ".join(timed_names)
    machine_facts = _machine_differences(a, b)
    if timed_names and machine_facts:
        warnings.append(
            f"A and B ran on different machines ({', '.join(machine_facts)}): "
            f"{timed} compare the machines as well as the recipes"
        )
    changed = {row[0] for row in run_differences}
    if "epochs" in changed:
        warnings.append(
            "A and B were trained for different numbers of epochs: no metric is comparable"
        )
    if "threads" in changed and timed_names:
        warnings.append(
            f"A and B used different numbers of threads: this shows in {timed}"
        )
    if not (a.finished and b.finished):
        warnings.append(
            "a run is unfinished: its numbers are those of the seeds trained so far"
        )
    return warnings


def _machine_differences(a: Record, b: Record) -> list[str]:
    environment_a = Environment.from_json(a.environment)
    environment_b = Environment.from_json(b.environment)
    facts = []
    for difference in environment_difference(environment_a, environment_b):
        if difference.fact in MACHINE:
            facts.append(difference.fact)
    return facts
