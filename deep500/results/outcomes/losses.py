"""What B lost that A has: seeds without a result, and metrics."""

from collections.abc import Iterable, Sequence

from ...contracts.metric_summary import MetricSummary
from ...reports.text import clean
from .data import RecipeRecord, numbers_of
from .metric_text import is_unavailable, metric_name

MOST_LISTED = 6
LONGEST_REASON = 100


def lost_seeds(
    a: RecipeRecord,
    b: RecipeRecord,
    pairs: Sequence[tuple[MetricSummary, MetricSummary]],
) -> list[str]:
    """A sentence for each seed that has a value in A and none in B, or that B planned and, unlike A, did not train."""
    sentences = []
    for seed in _untrained(b):
        if seed in numbers_of(a).seeds:
            sentences.append(f"B did not train seed {seed} to its end")
    reasons = _failures(b)
    for seed in numbers_of(b).seeds:
        names = []
        for of_a, of_b in pairs:
            if is_unavailable(of_a) or is_unavailable(of_b):
                continue
            if _is_lost(seed, _by_seed(a, of_a), _by_seed(b, of_b)):
                names.append(metric_name(of_b))
        if names:
            reason = clean(reasons.get(seed, ""))[:LONGEST_REASON]
            why = f" ({reason})" if reason else ""
            sentences.append(f"B lost seed {seed}{why}: no {' and no '.join(names)}")
    return sentences


def missing_metrics(in_a: Iterable[str], in_b: Iterable[str]) -> list[str]:
    """A sentence for each metric that only one side has."""
    of_a, of_b = list(in_a), list(in_b)
    only_a = [f"only A has {name}" for name in of_a if name not in of_b]
    only_b = [f"only B has {name}" for name in of_b if name not in of_a]
    return only_a + only_b


def shortened_list(sentences: Sequence[str]) -> list[str]:
    """The first few, and how many more there are."""
    more = len(sentences) - MOST_LISTED
    if more <= 0:
        return list(sentences)
    return [*sentences[:MOST_LISTED], f"and {more} more like that"]


def _is_lost(
    seed: int,
    in_a: dict[int, float | None],
    in_b: dict[int, float | None],
) -> bool:
    """Whether B has no value for a seed, and A has one: for that seed, or, if A never ran it, for all of its own."""
    if in_b[seed] is not None:
        return False
    if seed in in_a:
        return in_a[seed] is not None
    return None not in in_a.values()


def _by_seed(record: RecipeRecord, metric: MetricSummary) -> dict[int, float | None]:
    return dict(zip(numbers_of(record).seeds, metric.values, strict=True))


def _untrained(record: RecipeRecord) -> list[int]:
    trained = set(numbers_of(record).seeds)
    return [seed for seed in record.plan.seeds if seed not in trained]


def _failures(record: RecipeRecord) -> dict[int, str]:
    return {entry.seed: entry.reason for entry in numbers_of(record).failed}
