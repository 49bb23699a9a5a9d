"""Is B better than A? One sentence about the metric that matters most, and one about the others."""

from collections.abc import Mapping, Sequence

from ...contracts.metric_summary import MetricSummary
from ...reports.blocks import Banner
from ...reports.tables import Number, quantity, ratio
from ...reports.text import Text, VerdictWord
from .metric_contrast import MetricContrast
from .metric_text import amount, seed_count

Pair = tuple[MetricSummary, MetricSummary]  # of one metric in A and in B
MEDIANS = " (medians over the seeds)"
OTHERS = {
    "better": "better in B",
    "worse": "worse in B",
    "different": "different",
    "same": "the same",
    "inconclusive": "inconclusive",
}


def comparison_banner(
    pairs: Sequence[Pair],
    answers: Sequence[MetricContrast],
    incomparable: str = "",
    lost: int = 0,
    circumstances: str = "",
) -> Banner:
    """The answer on the first quality, or else the first metric that has an effect.

    `incomparable` is the reason if there can be no answer, `lost` is how many seeds B lost, and `circumstances` is what
    else the times depend on.
    """
    verdicts: dict[VerdictWord, int] = {}
    if incomparable:
        sentence: list[Text] = ["A and B cannot be compared: ", incomparable]
        return Banner(
            sentence,
            sentence,
            {VerdictWord("inconclusive"): 1},
            status=circumstances,
        )
    main = _main_place(pairs, answers)
    verdicts[VerdictWord(answers[main].verdict)] = 1
    sentence = _sentence(*pairs[main], answers[main])
    if lost:
        sentence.append(f"; B lost {seed_count(lost)} that A has")
    others = [*answers[:main], *answers[main + 1 :]]
    status = f"{_others(others)} {circumstances}".strip()
    return Banner(sentence, sentence, verdicts, status=status)


def _main_place(pairs: Sequence[Pair], answers: Sequence[MetricContrast]) -> int:
    """The place of the metric that the answer is about."""
    for place, (metric, _) in enumerate(pairs):
        if metric.kind == "quality" and _says_something(answers[place]):
            return place
    for place, answer in enumerate(answers):
        if _says_something(answer):
            return place
    return 0


def _says_something(answer: MetricContrast) -> bool:
    """Whether there is a number, or a verdict by ranks."""
    return answer.value is not None or answer.verdict != "inconclusive"


def _sentence(a: MetricSummary, b: MetricSummary, answer: MetricContrast) -> list[Text]:
    value_a = amount(a, with_count=False).value
    value_b = amount(b, with_count=False).value
    if answer.value is None and answer.verdict != "inconclusive":
        return [
            f"B is {answer.verdict} in {answer.name}, {value_b} where A has {value_a}: {answer.note}"
        ]
    if answer.value is None:
        return [
            f"Inconclusive: {answer.name} is {value_a} in A and {value_b} in B; {answer.note}"
        ]
    over = f", over {_seeds(a, b)}"
    if answer.effect == "ratio":
        return [*_ratio_sentence(answer, value_a, value_b), over]
    difference = _difference(answer)
    if answer.verdict == "same":
        return [
            f"B and A reach the same {answer.name}, {value_b} and {value_a}{MEDIANS}: {_effect_name(answer)} is ",
            difference,
            f", and up to {answer.same_within} counts as the same{over}",
        ]
    if answer.verdict == "inconclusive":
        return [
            f"Inconclusive: B reaches {value_b} where A reaches {value_a} in {answer.name}{MEDIANS}: "
            f"{_effect_name(answer)} is ",
            difference,
            over,
        ]
    word = {"different": "apart"}.get(answer.verdict, answer.verdict)
    magnitude = f"{difference.value} {word}"
    return [
        f"B reaches {value_b} where A reaches {value_a} in {answer.name}{MEDIANS}: {_effect_name(answer)} is ",
        Number(magnitude, difference.interval),
        over,
    ]


def _ratio_sentence(answer: MetricContrast, value_a: str, value_b: str) -> list[Text]:
    factor = ratio(answer.value, answer.low, answer.high, answer.n)
    number = Number(factor.value, factor.interval)
    if answer.verdict == "same":
        return [
            f"B and A have the same {answer.name}, {value_b} and {value_a}{MEDIANS}: {_effect_name(answer)} is ",
            number,
            f", and up to {answer.same_within} counts as the same",
        ]
    begin = "B has "
    if answer.verdict == "inconclusive":
        begin = "Inconclusive: B has "
    return [
        f"{begin}{value_b} where A has {value_a} in {answer.name}{MEDIANS}: {_effect_name(answer)} is ",
        number,
        _judged(answer.verdict),
    ]


def _effect_name(answer: MetricContrast) -> str:
    """What the number beside the two medians is: of pairs, it is not what one median lacks of the other."""
    if answer.effect == "ratio":
        effect, operation = "ratio", "B / A"
    else:
        effect, operation = "difference", "B - A"
    if answer.paired:
        return f"the median {effect} of pairs, {operation} seed by seed,"
    return f"the {effect} of the medians, {operation},"


def _judged(verdict: str) -> str:
    if verdict == "inconclusive":
        return ""
    return f", which is {verdict}"


def _difference(answer: MetricContrast) -> Number:
    """The difference with its sign, or its size where the verdict is a word that says the direction."""
    ends = answer.value, answer.low, answer.high
    value, low, high = (float(end or 0) for end in ends)
    if answer.verdict not in ("same", "inconclusive") and value < 0:
        value, low, high = -value, -high, -low
    full = quantity(value, low, high, answer.n, answer.unit)
    return Number(full.value, full.interval)


def _seeds(a: MetricSummary, b: MetricSummary) -> str:
    if a.n == b.n:
        return seed_count(a.n)
    return f"{a.n} and {b.n} seeds"


def _others(answers: Sequence[MetricContrast]) -> str:
    """The verdicts on the other metrics: better in B: x; inconclusive: y, z."""
    names: dict[str, list[str]] = {}
    for answer in answers:
        names.setdefault(answer.verdict, []).append(answer.name)
    return _listing(names)


def _listing(names: Mapping[str, Sequence[str]]) -> str:
    parts = []
    for verdict, words in OTHERS.items():
        if verdict in names:
            parts.append(f"{words}: {', '.join(names[verdict])}")
    if not parts:
        return ""
    return f"Of the other metrics, {'; '.join(parts)}."
