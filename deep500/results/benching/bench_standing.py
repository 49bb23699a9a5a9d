"""The entries of a measurement on a board: they compete with each other, and with those of the same measurement."""

from collections.abc import Iterator, Sequence

from ...contracts.standing import Contestant, Score, Standing, Word
from ...errors import Deep500Error, TooFewSamples
from ...hashing.canonical_form import form_hash
from ...measure.bench_plan import BenchPlan
from ...measure.numbers import EntryNumbers
from ...measure.results import Result
from ...measure.statistics.comparison import Comparison, compare
from ...measure.withholding import widened_comparison
from ...reports.tables import measured
from ...reports.text import clean
from ...schema import encoded

TIME = "time per call"
# What a measurement was told: with another of these it is made by another method.
METHOD_KEYS = ("factors", "level", "cache", "synchronised")
ENTRY_KEYS = ("name", "kind", "text", "setup", "levels", "job", "work")
WORDS: dict[str, Word] = {
    "faster": "better",
    "slower": "worse",
    "same": "same",
    "inconclusive": "inconclusive",
}


class BenchContestant(Contestant):
    """One entry of a measurement."""

    def __init__(self, result: Result, numbers: EntryNumbers, subject: str):
        self.result = result
        self.name = numbers.name
        self.standing = Standing(
            subject=subject,
            system=clean(numbers.name),
            division="closed",
            verdict="measured",
            league=_method(result.plan),
            method=_method(result.plan) | {"entry": numbers.name},
            scores=[_score(numbers, result.plan.level)],
            versions={},
        )

    def against(
        self, other: Contestant, score: str, margin: float, level: float
    ) -> Word:
        """Entries of one run are compared as it did, round by round; those of two runs by all of their samples."""
        if not isinstance(other, BenchContestant):
            return "inconclusive"
        try:
            if other.result is self.result:
                found = self.result.compare(other.name, self.name, level, margin)
            else:
                found = self._apart(other, margin, level)
        except (TooFewSamples, Deep500Error):
            return "inconclusive"
        return WORDS[found.verdict]

    def _apart(
        self, other: "BenchContestant", margin: float, level: float
    ) -> Comparison:
        """The comparison of two runs; without several processes nobody knows how far runs lie apart."""
        if len(self.result.processes) < 2 or len(other.result.processes) < 2:
            raise TooFewSamples("one process on a side")
        theirs = other.result.samples(other.name)
        mine = self.result.samples(self.name)
        found = compare(theirs, mine, margin, level)
        sides = other.result.widening(other.name), self.result.widening(self.name)
        return widened_comparison(found, max(sides, key=lambda side: side.factor))


def bench_contestants(
    result: Result, numbers: Sequence[EntryNumbers]
) -> Iterator[BenchContestant]:
    """All entries but the control, which is the first one again."""
    subject = " · ".join(clean(name) for name in result.names)[:100]
    for entry in numbers:
        if not result.is_control(entry.name):
            yield BenchContestant(result, entry, subject)


def _method(plan: BenchPlan) -> dict[str, object]:
    document = encoded(plan)
    entries = []
    for entry in document["entries"]:
        entries.append({key: entry[key] for key in ENTRY_KEYS if key in entry})
    told = {key: document[key] for key in METHOD_KEYS}
    told["threads"] = plan.about.threads
    return {"entries": form_hash(entries), "plan": form_hash(told)}


def _score(numbers: EntryNumbers, level: float) -> Score:
    return Score(
        name=TIME,
        value=numbers.median,
        low=numbers.low,
        high=numbers.high,
        n=numbers.n,
        level=level,
        unit="s",
        kind="cost",
        better="lower",
        text=str(measured(numbers.median, numbers.low, numbers.high, numbers.n, level)),
    )
