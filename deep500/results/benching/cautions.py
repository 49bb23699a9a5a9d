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
from .data import Comparison, Entry, ReportData
from .drifts import drifts


def cautions(data: ReportData) -> list[Text]:
    """Warnings first of the whole run, then of entries, then of comparisons; each said once."""
    warnings: list[Text] = [*_notes(data.derived)]
    warnings += _interference(data.interference)
    warnings += _control(data.derived.get("control"))
    warnings += drifts(data)
    of_entries = []
    for entry in data.entries:
        name = entry_name(data, entry["name"])
        of_entries.append((name, _of_entry(entry)))
    warnings += _by_message("entry", of_entries)
    of_comparisons = []
    for comparison in data.comparisons:
        name = between(data, comparison)
        of_comparisons.append((name, _of_comparison(comparison)))
    warnings += _by_message("comparison", of_comparisons)
    return warnings


def _interference(interference: Mapping[str, Any]) -> list[Text]:
    """How much others used of the machine, if it is worth a line."""
    if not is_busy(interference):
        return []
    used = rounded(interference["others"])
    low = interference.get("low")
    high = interference.get("high")
    if is_number(low) and is_number(high):
        used += f" [{rounded(low)}, {rounded(high)}]"
    cpus = plain(interference.get("cpus"))
    blocks = count(interference.get("n"))
    return [
        f"others used {used} of the {cpus} CPUs while this was measured (median of the blocks, {blocks}): "
        "absolute times are too long by an unknown amount"
    ]


def _of_entry(entry: Entry) -> list[str]:
    warnings = _notes(entry)
    start = (entry.get("warmup") or {}).get("kind")
    already_said = any("never steady" in note for note in warnings)
    if start == "none" and not already_said:
        warnings.append(
            "never steady: the times change throughout the run, and no part of it speaks for the rest"
        )
    if start == "slowdown":
        warnings.append("slows down: later calls cost more than early ones")
    modes = entry.get("modes")
    if modes:
        warnings.append(
            f"{len(modes)} modes, shown with their shares of the values: the median alone does not describe them"
        )
    batch = entry.get("batch")
    if is_number(batch) and batch > 1:
        values = one_value(entry, plural=True)
        warnings.append(
            f"{batch} calls were timed together: values and quantiles are of {values}"
        )
    return warnings + _refusals("no", entry)


def _of_comparison(comparison: Comparison) -> list[str]:
    return _notes(comparison) + _refusals("no ratio at", comparison)


def _notes(row: Mapping[str, Any]) -> list[str]:
    """The notes of a run, an entry or a comparison."""
    return [clean(note) for note in row.get("notes") or []]


def _refusals(introduction: str, row: Mapping[str, Any]) -> list[str]:
    """One line for all quantiles that were refused, with the reason for the first."""
    names = []
    reasons = []
    for quantile in row.get("quantiles") or []:
        if not quantile.get("refused"):
            continue
        q = quantile.get("q")
        names.append(quantile_name(q) if is_number(q) else "a quantile")
        reasons.append(quantile["refused"])
    if not names:
        return []
    listing = ", ".join(names)
    reason = clean(reasons[0])
    return [f"{introduction} {listing} ({reason})"]


def _by_message(
    kind: str, said: Sequence[tuple[Text, list[str]]]
) -> list[Text]:
    """One line for each message, with all that it is about."""
    names_by_message: dict[str, list[Text]] = {}
    for name, messages in said:
        for message in messages:
            names_by_message.setdefault(message, []).append(name)
    lines: list[Text] = []
    for message, names in names_by_message.items():
        subject = listed(names)
        if 2 < len(names) == len(said):
            subject = [f"every {kind}"]
        lines.append([*subject, f": {message}"])
    return lines


def _control(control: object) -> list[Text]:
    """The comparison of the first candidate with itself, if there was one."""
    if not isinstance(control, Mapping):
        return []
    name = Code(clean(control.get("base", "?")))
    verdict = verdict_of(control.get("verdict"))
    ratio = ratio_of(control)
    return [["Control, ", name, " against itself: ", verdict, ", ", ratio, "."]]
