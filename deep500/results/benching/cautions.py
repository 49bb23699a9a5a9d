"""What a reader must know before trusting a number: notes of the run, and states that need words."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...reports.tables import count, is_number
from ...reports.text import (
    Code,
    Text,
    clean,
    listed,
    plain,
    verdict_of,
)
from .contents import (
    between,
    entry_name,
    is_busy,
    one_value,
    quantile_name,
    ratio_of,
    rounded,
)
from .data import ReportData
from .drifts import drifts


def cautions(data: ReportData) -> list[Text]:
    """Warnings first of the whole run, then of entries, then of comparisons; each said once."""
    found: list[Text] = [clean(note) for note in data.derived.get("notes") or []]
    found += _interference(data.interference)
    found += _control(data.derived.get("control"))
    found += drifts(data)
    found += _by_message(
        "entry", [(entry_name(data, e["name"]), _of_entry(e)) for e in data.entries]
    )
    found += _by_message(
        "comparison", [(between(data, c), _of_comparison(c)) for c in data.comparisons]
    )
    return found


def _interference(found: Mapping[str, Any]) -> list[Text]:
    """What others used, if it is worth a line."""
    if not is_busy(found):
        return []
    low, high = found.get("low"), found.get("high")
    limits = (
        f" [{rounded(low)}, {rounded(high)}]"
        if is_number(low) and is_number(high)
        else ""
    )
    used = f"{rounded(found['others'])}{limits} of the {plain(found.get('cpus'))} CPUs"
    return [
        f"others used {used} while this was measured (median of the blocks, {count(found.get('n'))}): "
        "absolute times are too long by an unknown amount"
    ]


def _of_entry(e: Mapping[str, Any]) -> list[str]:
    found = [clean(note) for note in e.get("notes") or []]
    kind = (e.get("warmup") or {}).get("kind")
    if kind == "none" and not any("never steady" in note for note in found):
        found.append(
            "never steady: the times change throughout the run, and no part of it speaks for the rest"
        )
    if kind == "slowdown":
        found.append("slows down: later calls cost more than early ones")
    if e.get("modes"):
        found.append(
            f"{len(e['modes'])} modes, shown with their shares of the values: the median alone does not describe them"
        )
    if is_number(e.get("batch")) and e["batch"] > 1:
        found.append(
            f"{e['batch']} calls were timed together: values and quantiles are of {one_value(e, plural=True)}"
        )
    return found + _refusals("no", e)


def _of_comparison(c: Mapping[str, Any]) -> list[str]:
    return [*map(clean, c.get("notes") or []), *_refusals("no ratio at", c)]


def _refusals(what: str, row: Mapping[str, Any]) -> list[str]:
    """One line for all quantiles that were refused, with the reason for the first."""
    refused = [q for q in row.get("quantiles") or [] if q.get("refused")]
    if not refused:
        return []
    names = [
        quantile_name(q["q"]) if is_number(q.get("q")) else "a quantile"
        for q in refused
    ]
    return [f"{what} {', '.join(names)} ({clean(refused[0]['refused'])})"]


def _by_message(kind: str, said: Sequence[tuple[Text, list[str]]]) -> list[Text]:
    """One line for each message, with all that it is about."""
    about: dict[str, list[Text]] = {}
    for who, messages in said:
        for message in messages:
            about.setdefault(message, []).append(who)
    return [
        [
            *([f"every {kind}"] if 2 < len(who) == len(said) else listed(who)),
            f": {message}",
        ]
        for message, who in about.items()
    ]


def _control(control: object) -> list[Text]:
    if not isinstance(control, Mapping):
        return []
    verdict = verdict_of(control.get("verdict"))
    name = Code(clean(control.get("base", "?")))
    return [
        ["Control, ", name, " against itself: ", verdict, ", ", ratio_of(control), "."]
    ]
