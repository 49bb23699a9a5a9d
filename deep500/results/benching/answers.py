"""The answer, said first: one sentence with the ratio, its interval and the absolute values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...reports.tables import is_number, percent
from ...reports.text import (
    VERDICTS,
    Code,
    Text,
    Verdict,
    clean,
    flat,
    listed,
    verdict_of,
)
from .contents import absolute, is_busy, ratio_of, rounded
from .data import ReportData

MOST_NAMES = 3  # in one sentence


@dataclass(frozen=True)
class Answer:
    """How often each verdict was given (none where nothing was compared), the headline, and its figures."""

    verdicts: Mapping[Verdict, int]
    headline: Sequence[Text]
    figures: Sequence[tuple[Text, Text]] = ()  # label and value

    @property
    def sentence(self) -> list[Text]:
        figures = listed([[label, " ", value] for label, value in self.figures], "; ")
        colon = any(
            ": " in part for part in flat(self.headline) if not isinstance(part, Code)
        )
        return [
            *self.headline,
            "; " if colon and figures else ": " if figures else "",
            *figures,
            ".",
        ]


def answer(data: ReportData) -> Answer:
    """What the result says, in one sentence, and on what kind of machine."""
    found = _answer(data)
    if not is_busy(data.interference):
        return found
    used = rounded(data.interference["others"])
    return replace(
        found, headline=[*found.headline, f", on a machine that others used to {used}"]
    )


def _answer(data: ReportData) -> Answer:
    if len(data.comparisons) == 1:
        return _one(data, data.comparisons[0])
    if data.comparisons:
        return _many(data)
    if not data.entries:
        return Answer({Verdict("refused"): 1}, ["Nothing was measured"])
    if len(data.entries) == 1:
        return _alone(data.entries[0])
    return Answer(
        {}, [f"{len(data.entries)} entries were measured and none were compared"]
    )


def status(data: ReportData) -> str:
    """How the run ended, in the words of the run."""
    text = clean(data.derived.get("status") or "")
    ended = {
        "precise": "Stopped because it was precise enough",
        "budget": "Stopped at the end of its budget",
    }
    reason = ended.get(data.derived.get("stopped", ""), "")
    return ": ".join(filter(None, (reason, text))) + ("." if reason or text else "")


def _by_verdict(
    rows: Sequence[Mapping[str, Any]],
) -> dict[Verdict, list[Mapping[str, Any]]]:
    groups = {
        Verdict(word): [c for c in rows if verdict_of(c.get("verdict")) == word]
        for word in VERDICTS
    }
    return {verdict: mine for verdict, mine in groups.items() if mine}


def _one(data: ReportData, c: Mapping[str, Any]) -> Answer:
    verdict, base, other = (
        verdict_of(c.get("verdict")),
        _name(c["base"]),
        _name(c["other"]),
    )
    margin = percent(c.get("margin"))
    headline = {
        "faster": [other, " is faster than ", base],
        "slower": [other, " is slower than ", base],
        "same": [other, " and ", base, f" take the same time, within {margin}"],
        "inconclusive": [
            "Inconclusive: ",
            other,
            " may be faster or slower than ",
            base,
            ", or the same",
        ],
        "refused": ["No verdict on ", other, " against ", base],
    }[verdict]
    return Answer(
        {verdict: 1},
        headline,
        [
            ("ratio", ratio_of(c)),
            ([base, " takes"], absolute(data.entry(c["base"]))),
            ([other, " takes"], absolute(data.entry(c["other"]))),
        ],
    )


def _many(data: ReportData) -> Answer:
    headline: list[Text] = []
    bases = list(dict.fromkeys(c["base"] for c in data.comparisons))
    for base in bases[:MOST_NAMES]:
        groups = _by_verdict([c for c in data.comparisons if c["base"] == base]).items()
        headline += [
            "; compared with " if headline else "Compared with ",
            _name(base),
            ": ",
            *listed([_who(*group) for group in groups]),
        ]
    rest = len(bases) - MOST_NAMES
    headline += [f"; and so on for {rest} more"] if rest > 0 else []
    counts = {
        verdict: len(rows) for verdict, rows in _by_verdict(data.comparisons).items()
    }
    takes = [
        ([_name(base), " takes"], absolute(data.entry(base)))
        for base in bases[:MOST_NAMES]
    ]
    return Answer(counts, headline, takes)


def _who(verdict: Verdict, rows: Sequence[Mapping[str, Any]]) -> Text:
    """Who is faster and by how much, or how many where the names would not fit into a sentence."""
    are = (" are " if len(rows) > 1 else " is ") + "the " * (verdict == "same")
    names = listed([_name(c["other"]) for c in rows], " and ")
    who = names if len(rows) <= MOST_NAMES else [f"{len(rows)} entries"]
    return [*who, are, verdict, *_by_how_much(verdict, rows)]


def _by_how_much(verdict: Verdict, rows: Sequence[Mapping[str, Any]]) -> list[Text]:
    """The ratio, or the smallest and the largest of several, each with interval and n."""
    known = sorted(
        (c for c in rows if is_number(c.get("ratio"))), key=lambda c: c["ratio"]
    )
    if verdict not in ("faster", "slower") or not known:
        return []
    smallest, largest = ratio_of(known[0]), ratio_of(known[-1])
    if len(known) == 1:
        return [" (", smallest, ")"]
    return [" (from ", smallest, " to ", largest, ")"]


def _alone(entry: Mapping[str, Any]) -> Answer:
    name, figure = _name(entry["name"]), absolute(entry)
    if not is_number(entry.get("low")):
        headline = [name, " was measured, but its median has no interval"]
        return Answer({Verdict("refused"): 1}, headline, [("median", figure)])
    return Answer({}, ["The median of ", name, " is ", figure])


def _name(name: str) -> Code:
    return Code(clean(name))
