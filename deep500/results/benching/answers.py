"""The answer, said first: one sentence with the ratio, its interval and the absolute values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...measure.numbers import EntryComparison, EntryNumbers
from ...reports.tables import percent
from ...reports.text import (
    VERDICTS,
    Code,
    Text,
    VerdictWord,
    clean,
    flat,
    listed,
)
from .contents import (
    absolute,
    during,
    is_busy,
    ratio_figures,
    ratio_of,
    rounded,
)
from .data import ReportData

MOST_NAMES = 3  # in one sentence
REASONS = {
    "precise": "Stopped because it was precise enough",
    "budget": "Stopped at the end of its budget",
}


@dataclass(frozen=True)
class Answer:
    """How often each verdict was given (none where nothing was compared), the headline, and its figures."""

    verdicts: Mapping[VerdictWord, int]
    headline: Sequence[Text]
    figures: Sequence[tuple[Text, Text]] = ()  # label and value

    @property
    def sentence(self) -> list[Text]:
        """The headline and its figures as one sentence."""
        figures = [[label, " ", value] for label, value in self.figures]
        separator = ""
        if figures:
            separator = "; " if self._has_colon() else ": "
        return [*self.headline, separator, *listed(figures, "; "), "."]

    def _has_colon(self) -> bool:
        """Whether the text of the headline has a colon outside of code."""
        parts = flat(self.headline)
        texts = [part for part in parts if not isinstance(part, Code)]
        return any(": " in text for text in texts)


def answer(data: ReportData) -> Answer:
    """What the result says, in one sentence, and on what kind of machine."""
    verdict = _answer(data)
    interference = data.derived.interference
    if interference is None or not is_busy(interference):
        return verdict
    used = rounded(interference.others)
    busy = f", on a machine that others used to {used}"
    return replace(verdict, headline=[*verdict.headline, busy])


def _answer(data: ReportData) -> Answer:
    if len(data.comparisons) == 1:
        return _one(data, data.comparisons[0])
    if data.comparisons:
        return _many(data)
    if not data.entries:
        return Answer({VerdictWord("refused"): 1}, ["Nothing was measured"])
    if len(data.entries) == 1:
        return _alone(data.entries[0], during(data))
    measured = len(data.entries)
    return Answer({}, [f"{measured} entries were measured and none were compared"])


def status(data: ReportData) -> str:
    """How the run ended, in the words of the run."""
    text = clean(data.derived.status)
    reason = REASONS.get(data.derived.stopped, "")
    parts = [part for part in (reason, text) if part]
    if not parts:
        return ""
    return ": ".join(parts) + "."


def _by_verdict(
    rows: Sequence[EntryComparison],
) -> dict[VerdictWord, list[EntryComparison]]:
    """The comparisons of every verdict that was given, in the order of VERDICTS."""
    groups: dict[VerdictWord, list[EntryComparison]] = {}
    for word in VERDICTS:
        groups[VerdictWord(word)] = []
    for row in rows:
        groups[VerdictWord(row.verdict)].append(row)
    return {verdict: group for verdict, group in groups.items() if group}


def _one(data: ReportData, comparison: EntryComparison) -> Answer:
    """The answer to a single comparison."""
    verdict = VerdictWord(comparison.verdict)
    base = _name(comparison.base)
    other = _name(comparison.other)
    base_time = absolute(data.entry(comparison.base))
    other_time = absolute(data.entry(comparison.other))
    figures = [
        *ratio_figures(comparison),
        ([base, " takes"], base_time),
        ([other, " takes"], other_time),
    ]
    headline = _headline(verdict, base, other, comparison.margin)
    if comparison.meaning and comparison.meaning.withheld:
        headline = ["No verdict on ", other, " against ", base]
    return Answer({verdict: 1}, headline, figures)


def _headline(
    verdict: VerdictWord, base: Code, other: Code, margin: float
) -> list[Text]:
    if verdict == "faster":
        return [other, " is faster than ", base]
    if verdict == "slower":
        return [other, " is slower than ", base]
    if verdict == "same":
        return [
            other,
            " and ",
            base,
            f" take the same time, within {percent(margin)}",
        ]
    if verdict == "inconclusive":
        may_be = " may be faster or slower than "
        return ["Inconclusive: ", other, may_be, base, ", or the same"]
    return ["No verdict on ", other, " against ", base]


def _many(data: ReportData) -> Answer:
    """The answer to several comparisons, base by base."""
    headline: list[Text] = []
    takes: list[tuple[Text, Text]] = []
    by_base: dict[str, list[EntryComparison]] = {}
    for comparison in data.comparisons:
        by_base.setdefault(comparison.base, []).append(comparison)
    for base in list(by_base)[:MOST_NAMES]:
        name = _name(base)
        parts = []
        for verdict, rows in _by_verdict(by_base[base]).items():
            parts.append(_who(verdict, rows))
        introduction = "; compared with " if headline else "Compared with "
        headline += [introduction, name, ": ", *listed(parts)]
        time = absolute(data.entry(base))
        takes.append(([name, " takes"], time))
    others = len(by_base) - MOST_NAMES
    if others > 0:
        headline.append(f"; and so on for {others} more")
    counts = {}
    for verdict, rows in _by_verdict(data.comparisons).items():
        counts[verdict] = len(rows)
    return Answer(counts, headline, takes)


def _who(verdict: VerdictWord, rows: Sequence[EntryComparison]) -> Text:
    """Who is faster and by how much, or how many where the names would not fit into a sentence."""
    names = [_name(row.other) for row in rows]
    subject = listed(names, " and ")
    if len(rows) > MOST_NAMES:
        subject = [f"{len(rows)} entries"]
    verb = " are " if len(rows) > 1 else " is "
    if verdict == "same":
        verb += "the "
    return [*subject, verb, verdict, *_by_how_much(verdict, rows)]


def _by_how_much(verdict: VerdictWord, rows: Sequence[EntryComparison]) -> list[Text]:
    """The ratio, or the smallest and the largest of several, each with interval and n."""
    if verdict not in ("faster", "slower"):
        return []
    by_ratio = sorted(rows, key=lambda row: row.ratio or 1.0)
    smallest = ratio_of(by_ratio[0])
    largest = ratio_of(by_ratio[-1])
    if len(rows) == 1:
        return [" (", smallest, ")"]
    return [" (from ", smallest, " to ", largest, ")"]


def _alone(entry: EntryNumbers, during: str) -> Answer:
    """The answer to a measurement of one entry."""
    name = _name(entry.name)
    median = absolute(entry)
    if entry.low is None:
        headline = [name, " was measured, but its median has no interval"]
        return Answer({VerdictWord("refused"): 1}, headline, [("median", median)])
    return Answer({}, ["The median of ", name, during, " is ", median])


def _name(name: str) -> Code:
    return Code(clean(name))
