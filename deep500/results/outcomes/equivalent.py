"""Do two runs of recipes converge to the same quality? Two one-sided tests over paired seeds, for every quality."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ...contracts.result import Contrast, Record
from ...errors import Deep500Error, TooFewSamples
from ...measure.statistics.equivalence import Equivalence, equivalence
from ...reports.blocks import Block, Bullets, Table
from ...reports.tables import Number, count, number, percent
from ...reports.text import Text, Verdict
from .contents import metric_name


def equivalence_contrast(a: Record, b: Record, margin: float, level: float) -> Contrast:
    """B - A of every metric that both have and that is a quality; the margin is in its unit."""
    names = [name for name in _qualities(a) if name in _qualities(b)]
    if not names:
        raise Deep500Error("A and B share no metric that is a quality: there is nothing to test")
    answers = {name: _tested(name, a, b, margin, level) for name in names}
    rows: list[list[Text]] = []
    notes: list[Text] = []
    for name, answer in answers.items():
        unit = _qualities(a)[name]["unit"]
        rows.append([name, _difference(answer, unit), _margin(margin, unit), _word(answer)])
        if isinstance(answer, str):
            notes.append(f"{name}: {answer}")
    notes.append(
        f"two one-sided tests over paired seeds, each at {percent(1 - level)}; the interval is at "
        f"{percent(2 * level - 1)}"
    )
    table = Table(["quality", "B - A", "margin", "A and B are"], rows)
    blocks: list[Block] = [table, Bullets(notes)]
    data: dict[str, Any] = {"margin": margin, "tests": {}, "verdict": _overall(answers)}
    for name, answer in answers.items():
        test = {"verdict": "inconclusive", "reason": answer}
        data["tests"][name] = test if isinstance(answer, str) else asdict(answer)
    return Contrast({"equivalence": data}, blocks)


def paired_values(
    a: Mapping[str, Any], b: Mapping[str, Any], seeds_a: Sequence[int], seeds_b: Sequence[int]
) -> list[tuple[float, float]]:
    """The values of the seeds that both have; seeds without a value are left out."""
    of_b = dict(zip(seeds_b, b["values"], strict=True))
    pairs = []
    for seed, value in zip(seeds_a, a["values"], strict=True):
        other = of_b.get(seed)
        if value is not None and other is not None:
            pairs.append((value, other))
    return pairs


def _qualities(record: Record) -> dict[str, Mapping[str, Any]]:
    metrics = record.derived["metrics"] if record.derived else []
    return {metric_name(m): m for m in metrics if m["kind"] == "quality"}


def _tested(name: str, a: Record, b: Record, margin: float, level: float) -> Equivalence | str:
    """The tests, or why there are none."""
    of_a, of_b = _qualities(a)[name], _qualities(b)[name]
    seeds_a, seeds_b = ((record.derived or {})["seeds"] for record in (a, b))
    shared = [seed for seed in seeds_a if seed in seeds_b]
    pairs = paired_values(of_a, of_b, seeds_a, seeds_b)
    if len(pairs) < len(shared):
        return f"{len(shared) - len(pairs)} of {len(shared)} paired seeds diverged or have no value"
    try:
        return equivalence([y - x for x, y in pairs], margin, 1 - level)
    except TooFewSamples as reason:
        return f"no test: {reason} (A has {len(seeds_a)} seeds, B has {len(seeds_b)})"


def _word(answer: Equivalence | str) -> Verdict:
    return Verdict("inconclusive" if isinstance(answer, str) else answer.verdict)


def _overall(answers: Mapping[str, Equivalence | str]) -> str:
    """Different if one quality is, equivalent if all are."""
    words = {str(_word(answer)) for answer in answers.values()}
    if "different" in words:
        return "different"
    return "equivalent" if words == {"equivalent"} else "inconclusive"


def _difference(answer: Equivalence | str, unit: str) -> Text:
    if isinstance(answer, str):
        return Number("refused")
    low, high = number(answer.low), number(answer.high)
    value = f"{number(answer.difference)} {unit}".rstrip()
    return Number(value, f"[{low}, {high}]", count(answer.n))


def _margin(margin: float, unit: str) -> str:
    return f"± {margin:g} {unit}".rstrip()
