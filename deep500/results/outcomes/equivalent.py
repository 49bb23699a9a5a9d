"""Do two runs of recipes converge to the same quality? Two one-sided tests over paired seeds, for every quality."""

from collections.abc import Mapping, Sequence

from ...contracts.metric_summary import MetricSummary
from ...contracts.result import Contrast
from ...errors import Deep500Error, TooFewSamples
from ...measure.statistics.equivalence import Equivalence, median_equivalence
from ...reports.blocks import Block, Bullets, Table
from ...reports.tables import Number, count, number, percent
from ...reports.text import Text, VerdictWord
from .data import RecipeRecord, numbers_of
from .metric_text import POINTS, difference_unit, metric_name, seed_count

Answer = Equivalence | str  # the tests, or why there are none


def equivalence_contrast(
    a: RecipeRecord, b: RecipeRecord, margin: float, level: float
) -> Contrast:
    """B - A of every quality that both runs have; see `quality_margin` for the unit of the margin."""
    qualities_a = _qualities(a)
    qualities_b = _qualities(b)
    seeds_a = numbers_of(a).seeds
    seeds_b = numbers_of(b).seeds
    answers: dict[str, Answer] = {}
    rows: list[list[Text]] = []
    notes: list[Text] = []
    for name, quality in qualities_a.items():
        other = qualities_b.get(name)
        if other is None:
            continue
        room = quality_margin(quality, margin)
        answer = _tested(quality, other, seeds_a, seeds_b, room, level)
        answers[name] = answer
        rows.append(_row(name, answer, room, quality.unit))
        if isinstance(answer, str):
            notes.append(f"{name}: {answer}")
        else:
            notes += [f"{name}: {line}" for line in _cautions(answer)]
    if not answers:
        raise Deep500Error(
            "A and B share no metric that is a quality: there is nothing to test"
        )
    notes.append(_method(level))
    table = Table(["quality", "B - A", "margin", "A and B are"], rows)
    blocks: list[Block] = [table, Bullets(notes)]
    verdict = _overall(answers)
    data = {"margin": margin, "tests": _tests(answers), "verdict": verdict}
    return Contrast({"equivalence": data}, blocks, equivalence=verdict)


def _tests(answers: Mapping[str, Answer]) -> dict[str, object]:
    """The answers as `--json` prints them."""
    tests: dict[str, object] = {}
    for name, answer in answers.items():
        tests[name] = answer
        if isinstance(answer, str):
            tests[name] = {"verdict": "inconclusive", "reason": answer}
    return tests


def _method(level: float) -> str:
    alpha = percent(1 - level)
    interval_level = percent(2 * level - 1)
    return (
        f"the median of paired seeds by ranks, two one-sided tests, each at {alpha}; the interval is at "
        f"{interval_level} and holds for any distribution"
    )


def _cautions(answer: Equivalence) -> list[str]:
    """What a median does not see: seeds that collapse now and then."""
    confidence = percent(1 - answer.alpha)
    unseen = percent(answer.unseen or 0.0, 2)
    lines = [
        f"{answer.n} seeds cannot exclude that up to {unseen} of all seeds collapse in one of the two and not in the "
        f"other (at {confidence}, if none of these did)"
    ]
    inside = -answer.margin <= answer.low and answer.high <= answer.margin
    if inside and answer.verdict == "inconclusive":
        lines.append(
            "the median lies within the margin, but some seeds lie so far off that the mean may not"
        )
    return lines


def _row(name: str, answer: Answer, margin: float, unit: str) -> list[Text]:
    unit = difference_unit(unit)
    margin_text = f"± {number(margin)} {unit}".rstrip()
    if isinstance(answer, str):
        return [
            name,
            Number("refused"),
            margin_text,
            VerdictWord("inconclusive"),
        ]
    value = f"{number(answer.difference)} {unit}".rstrip()
    low = number(answer.low)
    high = number(answer.high)
    difference = Number(value, f"[{low}, {high}]", count(answer.n))
    return [name, difference, margin_text, VerdictWord(answer.verdict)]


def quality_margin(metric: MetricSummary, margin: float) -> float:
    """The margin in the unit of a metric: points for a quality in %, else a percentage of its median."""
    if metric.unit in POINTS or not metric.median:
        return margin
    return abs(metric.median) * margin / 100


def paired_values(
    a: MetricSummary,
    b: MetricSummary,
    seeds_a: Sequence[int],
    seeds_b: Sequence[int],
) -> list[tuple[float, float]]:
    """The values of the seeds that both have; seeds without a value are left out."""
    values_b = dict(zip(seeds_b, b.values, strict=True))
    pairs = []
    for seed, value in zip(seeds_a, a.values, strict=True):
        other = values_b.get(seed)
        if value is not None and other is not None:
            pairs.append((value, other))
    return pairs


def _qualities(record: RecipeRecord) -> dict[str, MetricSummary]:
    """The metrics of a record that are qualities, by name."""
    qualities = {}
    for metric in numbers_of(record).metrics:
        if metric.kind == "quality":
            qualities[metric_name(metric)] = metric
    return qualities


def _tested(
    a: MetricSummary,
    b: MetricSummary,
    seeds_a: Sequence[int],
    seeds_b: Sequence[int],
    margin: float,
    level: float,
) -> Answer:
    """The tests, or why there are none."""
    shared = {*seeds_a} & {*seeds_b}
    pairs = paired_values(a, b, seeds_a, seeds_b)
    without_value = len(shared) - len(pairs)
    if without_value:
        return (
            f"{without_value} of {len(shared)} paired seeds diverged or have no value"
        )
    differences = [second - first for first, second in pairs]
    try:
        return median_equivalence(differences, margin, 1 - level)
    except TooFewSamples as reason:
        return f"no test: {reason} (A has {seed_count(len(seeds_a))}, B has {len(seeds_b)})"


def _overall(answers: Mapping[str, Answer]) -> str:
    """Different if one quality is, equivalent if all are."""
    verdicts = {_verdict(answer) for answer in answers.values()}
    if "different" in verdicts:
        return "different"
    if verdicts == {"equivalent"}:
        return "equivalent"
    return "inconclusive"


def _verdict(answer: Answer) -> str:
    if isinstance(answer, str):
        return "inconclusive"
    return answer.verdict
