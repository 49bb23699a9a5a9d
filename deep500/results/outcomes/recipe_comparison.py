"""Two runs of recipes side by side: metric by metric over the seeds, and in what the recipes differ."""

import math
from collections.abc import Sequence
from dataclasses import replace

from ...contracts.metric_summary import MetricSummary
from ...contracts.result import Contrast
from ...errors import Deep500Error
from ...measure.machine import Environment, environment_difference
from ...reports.blocks import (
    Block,
    Bullets,
    Details,
    Figures,
    PageOnly,
    Picture,
    Sentence,
    Table,
)
from ...reports.tables import NOTHING, Number, count, percent, quantity, ratio
from ...reports.text import Text, VerdictWord, flat
from ...training.recipe_blocks import weights_of
from .answer import comparison_banner
from .conditions import others
from .data import RecipeRecord, numbers_of, outcome_data
from .loads import different_loads, disturbing_shares
from .losses import lost_seeds, missing_metrics, shortened_list
from .metric_contrast import TIMED, MetricContrast, compare_metric
from .metric_text import amount, is_unavailable, metric_name, seed_count
from .recipe_differences import (
    changed_sources,
    difference_blocks,
    fixed_hashes,
    own_code_differences,
    recipe_differences,
    recipe_identity,
)
from .setting_difference import SettingDifference
from .splitting import TimeSplit, split_blocks, time_splits

MACHINE = (
    "cpu model",
    "logical cpus",
    "physical cores",
    "memory size (GiB)",
    "accelerators",
)
OTHER_LOAD = (
    "the load of the machine differed or was high; `d5 run A B` trains both in turn"
)
Pairs = Sequence[tuple[MetricSummary, MetricSummary]]  # of one metric in A and in B


def contrast(a: RecipeRecord, b: RecipeRecord, margin: float, level: float) -> Contrast:
    """B against A. Seeds that both have are paired: they began with the same weights and saw the same order."""
    if not 0 <= margin < math.inf:
        raise Deep500Error(
            f"the margin is {margin!r}: give a share from 0 up, such as 0.02 for 2 %"
        )
    pairs = _shared_metrics(a, b)
    answers = _answers(a, b, pairs, margin, level)
    differences = recipe_differences(a, b)
    warnings = _warnings(a, b, pairs, differences.run)
    splits = time_splits(a, b, level)
    seeds_lost = lost_seeds(a, b, pairs)
    lost = seeds_lost + missing_metrics(_metrics_by_name(a), _metrics_by_name(b))
    answer = comparison_banner(
        pairs,
        answers,
        _incomparable(a, b),
        lost=len(seeds_lost),
        circumstances=_circumstances(a, b, pairs),
    )
    data: dict[str, object] = {
        "answer": "".join(flat(answer.sentence)),
        "recipes": {"a": recipe_identity(a), "b": recipe_identity(b)},
        "comparisons": answers,
        "level": level,
        "margin": margin,
        "fixed_equal": len({*fixed_hashes(a, b)}) == 1,
        "own_code_differs": own_code_differences(a, b),
        "sources_differ": changed_sources(a, b),
        "differences": differences,
        "lost": lost,
        "warnings": warnings,
        "splits": splits,
    }
    notes = [f"{metric.name}: {metric.note}" for metric in answers if metric.note]
    worse = [metric.name for metric in answers if metric.verdict == "worse"]
    pairing = _pairing(answers, numbers_of(a).seeds, numbers_of(b).seeds, level)
    lines = [*shortened_list(lost), _margins(answers), *notes, *warnings, pairing]
    blocks: list[Block] = [
        *_same_bits(a, b),
        _metric_table(pairs, answers),
        Bullets(lines),
        PageOnly([_pictures(a, b)]),
        *split_blocks(splits),
        *difference_blocks(differences, a, b),
        _methods(answers, splits),
    ]
    return Contrast(data, blocks, worse, answer, lost)


def _answers(
    a: RecipeRecord, b: RecipeRecord, pairs: Pairs, margin: float, level: float
) -> list[MetricContrast]:
    """B against A in every metric, without a verdict where the runs cannot be compared."""
    seeds_a = numbers_of(a).seeds
    seeds_b = numbers_of(b).seeds
    answers = [
        compare_metric(of_a, of_b, seeds_a, seeds_b, margin, level)
        for of_a, of_b in pairs
    ]
    if _incomparable(a, b):
        answers = [_without_verdict(answer) for answer in answers]
    if not _in_turn(a, b) and _different_loads(a, b):
        answers = [_without_time_verdict(answer) for answer in answers]
    return answers


def _pictures(a: RecipeRecord, b: RecipeRecord) -> Figures:
    """Both runs in one picture; what draws is imported when a page asks for it."""

    def draw() -> list[Picture]:
        from .contrast_pictures import contrast_pictures

        return contrast_pictures(outcome_data(a), outcome_data(b))

    return Figures(draw)


def _metric_table(pairs: Pairs, answers: Sequence[MetricContrast]) -> Table:
    rows = []
    for (of_a, of_b), answer in zip(pairs, answers, strict=True):
        with_count = of_a.n != of_b.n
        row = [
            answer.name,
            amount(of_a, with_count),
            amount(of_b, with_count),
            _effect(answer, is_unavailable(of_a) or is_unavailable(of_b)),
            VerdictWord(answer.verdict),
        ]
        rows.append(row)
    headers = ["median over seeds", "A", "B", "B - A or B / A", "B is"]
    return Table(headers, rows)


def _shared_metrics(
    a: RecipeRecord, b: RecipeRecord
) -> list[tuple[MetricSummary, MetricSummary]]:
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
        raise Deep500Error(f"nothing to compare: A has {names_a}; B has {names_b}")
    return pairs


def _metrics_by_name(record: RecipeRecord) -> dict[str, MetricSummary]:
    return {metric_name(metric): metric for metric in numbers_of(record).metrics}


def _same_bits(a: RecipeRecord, b: RecipeRecord) -> list[Block]:
    """That all seeds which both runs have trained ended with the same weights, if they did."""
    weights_a = weights_of(a.blocks)
    weights_b = weights_of(b.blocks)
    shared = weights_a.keys() & weights_b.keys()
    if not shared or any(weights_a[seed] != weights_b[seed] for seed in shared):
        return []
    seeds = seed_count(len(shared))
    return [Sentence(f"The weights of A and B are the same bits ({seeds}).")]


def _effect(answer: MetricContrast, unavailable: bool) -> Text:
    if unavailable:
        return NOTHING
    if answer.reached:
        return Number(answer.reached)
    if answer.value is None:
        return Number("refused", n=count(answer.n))
    if answer.effect == "ratio":
        return ratio(answer.value, answer.low, answer.high, answer.n)
    full = quantity(answer.value, answer.low, answer.high, answer.n, answer.unit)
    sign = "+" if answer.value > 0 else ""
    return Number(sign + full.value, full.interval, full.n)


def _margins(answers: Sequence[MetricContrast]) -> str:
    """How far apart B and A may lie and still be the same, by metric."""
    names: dict[str, list[str]] = {}
    for answer in answers:
        names.setdefault(answer.same_within, []).append(answer.name)
    parts = [f"{margin} ({', '.join(of)})" for margin, of in names.items()]
    return f"the same is what differs by at most {'; '.join(parts)}"


def _pairing(
    answers: Sequence[MetricContrast],
    seeds_a: Sequence[int],
    seeds_b: Sequence[int],
    level: float,
) -> str:
    """Whether seeds were paired, and what an interval promises."""
    pairing = "not paired: the seeds differ"
    if answers[0].paired:
        pairing = "paired seed by seed"
        others = len({*seeds_a} ^ {*seeds_b})
        if others:
            shared = len({*seeds_a} & {*seeds_b})
            pairing += f" by the {shared} that both have; {others} that one side lacks are left out of B - A and B / A"
    return f"{pairing}; each interval holds by itself at {percent(level)}"


def _methods(answers: Sequence[MetricContrast], splits: Sequence[TimeSplit]) -> Details:
    """The names of the methods, for those who want to look them up."""
    names: dict[str, list[str]] = {}
    for answer in answers:
        if answer.method != "none":
            names.setdefault(answer.method, []).append(answer.name)
    for split in splits:
        label = f"why: {split.metric}"
        names.setdefault(split.step_time.method, []).append(label)
    lines = [f"{', '.join(users)}: {name}" for name, users in names.items()]
    return Details("How the intervals were computed", [Bullets(lines)])


def _incomparable(a: RecipeRecord, b: RecipeRecord) -> str:
    """Why no metric can be compared; empty if they can."""
    epochs_a = a.plan.epochs
    epochs_b = b.plan.epochs
    if epochs_a == epochs_b:
        return ""
    return f"A was trained for different numbers of epochs than B ({epochs_a} against {epochs_b})"


def _without_verdict(answer: MetricContrast) -> MetricContrast:
    return replace(answer, verdict="inconclusive")


def _without_time_verdict(answer: MetricContrast) -> MetricContrast:
    """No verdict on a time or a rate that the load of the machine could explain; that a side never arrives stays."""
    if answer.effect != "ratio" or answer.value is None:
        return answer
    if answer.verdict == "inconclusive":
        return answer
    note = f"{answer.note}; no verdict: {OTHER_LOAD}".removeprefix("; ")
    return replace(answer, verdict="inconclusive", note=note)


def _warnings(
    a: RecipeRecord,
    b: RecipeRecord,
    pairs: Pairs,
    run_differences: Sequence[SettingDifference],
) -> list[str]:
    """Why a difference may come from something else than the recipes."""
    warnings = []
    timed_names = [metric_name(metric) for metric, _ in pairs if metric.kind in TIMED]
    timed = ", ".join(timed_names)
    machine_facts = _machine_differences(a, b)
    if timed_names and machine_facts:
        warnings.append(
            f"A and B ran on different machines ({', '.join(machine_facts)}): "
            f"{timed} compare the machines as well as the recipes"
        )
    changed = {setting.name for setting in run_differences}
    if "threads" in changed and timed_names:
        warnings.append(
            f"A and B used different numbers of threads: this shows in {timed}"
        )
    if not (a.finished and b.finished):
        warnings.append(
            "a run is unfinished: its numbers are those of the seeds trained so far"
        )
    for name, record in (("A", a), ("B", b)):
        warnings += [f"mark on {name}: {mark}" for mark in record.remarks]
    return warnings


def _circumstances(a: RecipeRecord, b: RecipeRecord, pairs: Pairs) -> str:
    """What the times of two runs depend on beside the recipes; empty if no times are compared."""
    if not any(metric.kind in TIMED for metric, _ in pairs):
        return ""
    loads = _different_loads(a, b)
    shared = (
        "All seeds of a run were timed in one state of the machine, and no interval over seeds knows how such states "
        "differ: the times of two runs of one recipe can lie further apart; `d5 run A B` trains both in turn."
    )
    if _in_turn(a, b):
        shared = "A and B were trained in turn, seed by seed, so that both met the same states of the machine."
    return f"{loads} {shared}".strip()


def _in_turn(a: RecipeRecord, b: RecipeRecord) -> bool:
    """Whether both were trained in turn, so that their loads cannot differ by much."""
    pair = a.plan.in_turn
    return pair is not None and pair == b.plan.in_turn


def _different_loads(a: RecipeRecord, b: RecipeRecord) -> str:
    """Whether others explain a difference: by what they used while seeds were trained, or else by the first loads."""
    others_a, others_b = others(a.blocks), others(b.blocks)
    if others_a is not None and others_b is not None:
        return disturbing_shares(others_a, others_b)
    environment_a = Environment.from_json(a.environment)
    environment_b = Environment.from_json(b.environment)
    return different_loads(environment_difference(environment_a, environment_b))


def _machine_differences(a: RecipeRecord, b: RecipeRecord) -> list[str]:
    environment_a = Environment.from_json(a.environment)
    environment_b = Environment.from_json(b.environment)
    facts = []
    for difference in environment_difference(environment_a, environment_b):
        if difference.fact in MACHINE:
            facts.append(difference.fact)
    return facts
