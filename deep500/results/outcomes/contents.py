"""What is said of a recipe's run: the sentence that comes first, its tables and its notes, for every renderer."""

import math
from collections import Counter
from collections.abc import Sequence

from ...contracts.metric import History
from ...contracts.metric_summary import MetricSummary
from ...reports.blocks import Bullets, Details, Table
from ...reports.tables import percent, seconds
from ...reports.text import (
    Code,
    Text,
    VerdictWord,
    clean,
    plain,
    shortened,
)
from ...training.resumption import FactChange, Resumption
from .byte_counting import byte_counting, host_copies
from .data import OutcomeData
from .metric_text import (
    against_target,
    amount,
    met,
    metric_name,
    seed_count,
    seed_range,
    target,
)
from .recipe_text import fixed_differences
from .remarks import recipe_remarks

WORDS = {
    "acceptable": "acceptable",
    "inconclusive": "acceptable, but not surely",
    "not acceptable": "NOT acceptable",
    "measured": "nothing was asked for",
    "unfinished": "unfinished",
}

# as the same is called in the other tables of the report
CLAIM_WORDS = {"not decided": "inconclusive"}
CHANGES_SHOWN = 8
MOST_SEEDS_NAMED = 3  # of those that were not trained to the end
LONGEST_REASON = 100
LONGEST_VALUE = 60
# A first step is reported if it takes more than one part in this many of the time of all steps.
SLOW_START = 5


def verdict(data: OutcomeData) -> VerdictWord:
    """The verdict on the whole run, one of the keys of WORDS."""
    judged = _with_target(data)
    if not data.finished:
        return VerdictWord("unfinished")
    if not judged:
        return VerdictWord("measured")
    if not all(metric.acceptable for metric in judged):
        return VerdictWord("not acceptable")
    if not all(metric.sure for metric in judged):
        return VerdictWord("inconclusive")
    return VerdictWord("acceptable")


def _with_target(data: OutcomeData) -> list[MetricSummary]:
    return [metric for metric in data.metrics if metric.target is not None]


def headline(data: OutcomeData) -> list[Text]:
    """What the verdict rests on."""
    if not data.finished:
        return [progress(data)]
    judged = _with_target(data)
    if not judged:
        return [
            "no metric has a target, so there is nothing to accept or to refuse",
            *_failures(data),
        ]
    missed = [metric for metric in judged if not metric.acceptable]
    decisive = missed or judged
    if len(decisive) == 1:
        return [*against_target(decisive[0]), *_failures(data)]
    verb = "missed" if missed else "met"
    parts = [_beside_target(metric) for metric in decisive]
    return [
        f"{len(decisive)} of {len(judged)} targets are {verb}: {', '.join(parts)}",
        *_failures(data),
    ]


def _failures(data: OutcomeData) -> list[Text]:
    """How many seeds did not get to their planned end; empty if all did."""
    ended = [run for run in data.runs if run.failure]
    if not ended:
        return []
    fates = Counter(map(_fate, ended))
    seeds = seed_count(len(data.plan.seeds))
    listed = ", ".join(f"{count} {fate}" for fate, count in fates.items())
    return [f"; of {seeds}, {listed}{_first_crash(ended)}"]


def _fate(run: History) -> str:
    if run.crashed:
        return "crashed"
    return "diverged" if run.divergence else "were stopped early"


def _first_crash(runs: Sequence[History]) -> str:
    """What the first seed that crashed did so of; empty if none did."""
    for run in runs:
        if run.crashed:
            reason = shortened(clean(run.failure), LONGEST_REASON)
            return f" (seed {run.seed} {reason})"
    return ""


def _beside_target(metric: MetricSummary) -> str:
    """The median beside the target, without the interval that the table has."""
    value = amount(metric, with_count=False).value
    text = f"{metric_name(metric)} {value} (target {target(metric)})"
    if metric.acceptable and not metric.sure:
        text += " not surely"
    return text


def sentence(data: OutcomeData) -> list[Text]:
    """The verdict and what it rests on."""
    return [WORDS[verdict(data)], ": ", *headline(data)]


def progress(data: OutcomeData) -> str:
    """How many seeds are trained, and how far the others have got."""
    planned = len(data.plan.seeds)
    epochs = data.plan.epochs
    verb = "was" if planned == 1 else "were"
    seeds = seed_count(planned)
    complete = [run for run in data.runs if is_complete(data, run)]
    parts = [f"{len(complete)} of {seeds} {verb} trained to the end"]
    others = [run for run in data.runs if not is_complete(data, run)]
    for run in others[:MOST_SEEDS_NAMED]:
        reached = len(run.evaluations)
        if run.failure:
            failure = clean(run.failure)[:LONGEST_REASON]
            parts.append(f"seed {run.seed} {failure}")
        else:
            parts.append(f"seed {run.seed} got through {reached} of {epochs} epochs")
    if len(others) > MOST_SEEDS_NAMED:
        parts.append(f"and {len(others) - MOST_SEEDS_NAMED} more were not")
    return ", ".join(parts)


def is_complete(data: OutcomeData, run: History) -> bool:
    """Whether a seed was trained to the end of its last epoch with losses that are all finite."""
    if run.seed not in data.numbers.seeds:
        return False
    return not run.failure


def metrics(data: OutcomeData) -> Table:
    """One row per metric: the median over seeds with interval and n, the seeds' range, target and verdict."""
    level = percent(data.plan.level)
    headers = [
        "metric",
        f"median over seeds [{level}], n",
        "seeds, from … to",
        "target",
        "verdict",
    ]
    rows = []
    for metric in data.metrics:
        row = [
            metric_name(metric),
            amount(metric),
            seed_range(metric),
            target(metric),
            met(metric) if data.finished else "not yet",
        ]
        rows.append(row)
    return Table(headers, rows)


def notes(data: OutcomeData) -> list[Text]:
    """What a reader must know before trusting a number."""
    lines: list[Text] = fixed_differences(data.plan)
    lines += _metric_notes(data)
    planned_epochs = data.plan.recipe.fixed.get("epochs")
    epochs = data.plan.epochs
    if planned_epochs != epochs:
        tier = clean(data.plan.tier)
        lines.append(
            f"Only {epochs} of the recipe's {plain(planned_epochs)} epochs were run "
            f"(tier {tier}): this is a trial of the recipe, not its result."
        )
    if not data.finished and data.metrics:
        lines.append(
            "The numbers are those of the seeds trained so far, and no verdict on the recipe."
        )
    lines += [
        f"Mark: {clean(mark)}." for mark in recipe_remarks(data.plan, data.blocks)
    ]
    lines += map(resumption_sentence, data.resumptions)
    lines += byte_counting(data)
    lines += host_copies(data)
    lines += _slow_starts(data)
    return lines


def _metric_notes(data: OutcomeData) -> list[str]:
    """Every note once, behind the names of all metrics that it is about."""
    names_by_note: dict[str, list[str]] = {}
    for metric in data.metrics:
        for note in metric.notes:
            names = names_by_note.setdefault(clean(note), [])
            names.append(metric_name(metric))
    lines = []
    for note, names in names_by_note.items():
        lines.append(f"{', '.join(names)}: {note}")
    return lines


def interval_methods(data: OutcomeData) -> Details:
    """The names of the methods, for those who want to look them up."""
    names: dict[str, list[str]] = {}
    for metric in data.metrics:
        if metric.method != "none":
            users = names.setdefault(clean(metric.method), [])
            users.append(metric_name(metric))
    lines = [f"{', '.join(users)}: {method}" for method, users in names.items()]
    return Details("How the intervals were computed", [Bullets(lines)])


def resumption_sentence(resumption: Resumption) -> str:
    """Where a run was resumed and what was different there, the facts that can change results first."""
    place = f"Seed {resumption.seed} was resumed after epoch {resumption.epochs}"
    if not resumption.changes:
        return f"{place}, on the same machine with the same software."
    changes = [_change(change) for change in resumption.changes[:CHANGES_SHOWN]]
    others = len(resumption.changes) - CHANGES_SHOWN
    if others > 0:
        changes.append(f"and {others} more")
    listing = "; ".join(changes)
    return f"{place} under other conditions than the run was begun: {listing}."


def _change(change: FactChange) -> str:
    was = _fact_value(change.was)
    now = _fact_value(change.now)
    fact = clean(change.fact).removeprefix("package ")
    return f"{fact} {was} → {now}"


def _fact_value(value: object) -> str:
    if value is None:
        return "unknown"
    text = str(value)
    if isinstance(value, list):
        text = ", ".join(map(str, value))
    return shortened(clean(text), LONGEST_VALUE)


def _slow_starts(data: OutcomeData) -> list[str]:
    """A sentence for each seed whose first step took so long that the framework was starting up."""
    sentences = []
    for run in data.runs:
        if run.steps <= SLOW_START:
            continue
        first = run.step_seconds[0]
        total = math.fsum(run.step_seconds)
        if first > total / SLOW_START:
            sentences.append(
                f"Seed {run.seed}: its first step took {seconds(first)} of the {seconds(total)} of its training (a "
                "framework that starts up, most likely); its times and rates hold that step."
            )
    return sentences


def claims(data: OutcomeData) -> Table:
    """Every claim with its verdict; no rows if the recipe makes none."""
    rows = []
    for claim in data.numbers.claims:
        row = [
            Code(clean(claim.claim)),
            VerdictWord(CLAIM_WORDS.get(claim.verdict, claim.verdict)),
            clean(claim.reason),
        ]
        rows.append(row)
    return Table(["claim", "verdict", "measured"], rows, "tlt")
