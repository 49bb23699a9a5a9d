"""What a reader must know before trusting a number: notes of the run, and states that need words."""

from collections.abc import Sequence

from ...measure.interference import Interference
from ...measure.numbers import (
    ControlNumbers,
    EntryComparison,
    EntryNumbers,
    RatioAtQuantile,
    TimeAtQuantile,
)
from ...reports.tables import count
from ...reports.text import (
    Code,
    Text,
    VerdictWord,
    clean,
    listed,
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
    warnings = run_cautions(data)
    warnings += drifts(data)
    of_entries = []
    for entry in data.entries:
        name = entry_name(data, entry.name)
        of_entries.append((name, _of_entry(entry)))
    warnings += _by_message("entry", of_entries)
    of_comparisons = []
    for comparison in data.comparisons:
        name = between(data, comparison)
        of_comparisons.append((name, _of_comparison(comparison)))
    warnings += _by_message("comparison", of_comparisons)
    return warnings


def run_cautions(data: ReportData) -> list[Text]:
    """The warnings of the whole run alone."""
    warnings: list[Text] = [*_notes(data.derived.notes)]
    if data.derived.interference:
        warnings += _interference(data.derived.interference)
    if data.derived.control:
        warnings.append(_control(data.derived.control))
    return warnings


def _interference(interference: Interference) -> list[Text]:
    """How much others used of the machine, if it is worth a line."""
    if not is_busy(interference):
        return []
    used = rounded(interference.others)
    low = interference.low
    high = interference.high
    if low is not None and high is not None:
        used += f" [{rounded(low)}, {rounded(high)}]"
    cpus = interference.cpus
    blocks = count(interference.n)
    return [
        f"others used {used} of the {cpus} CPUs while this was measured (median of the blocks, {blocks}): "
        "absolute times are too long by an unknown amount"
    ]


def _of_entry(entry: EntryNumbers) -> list[str]:
    warnings = _notes(entry.notes)
    start = entry.warmup.kind
    already_said = any("never steady" in note for note in warnings)
    if start == "none" and not already_said:
        warnings.append(
            "never steady: the times change throughout the run, and no part of it speaks for the rest"
        )
    if start == "slowdown":
        warnings.append("slows down: later calls cost more than early ones")
    if entry.modes:
        warnings.append(
            f"{len(entry.modes)} modes, shown with their shares of the values: the median alone does not describe them"
        )
    if entry.batch > 1:
        values = one_value(entry, plural=True)
        warnings.append(
            f"{entry.batch} calls were timed together: values and quantiles are of {values}"
        )
    return warnings + _refusals("no", entry.quantiles)


def _of_comparison(comparison: EntryComparison) -> list[str]:
    return _notes(comparison.notes) + _refusals("no ratio at", comparison.quantiles)


def _notes(notes: Sequence[str]) -> list[str]:
    return [clean(note) for note in notes]


def _refusals(
    introduction: str,
    quantiles: Sequence[TimeAtQuantile] | Sequence[RatioAtQuantile],
) -> list[str]:
    """One line for all quantiles that were refused, with the reason for the first."""
    names = []
    reasons = []
    for quantile in quantiles:
        if quantile.refused:
            names.append(quantile_name(quantile.q))
            reasons.append(quantile.refused)
    if not names:
        return []
    listing = ", ".join(names)
    reason = clean(reasons[0])
    return [f"{introduction} {listing} ({reason})"]


def _by_message(kind: str, said: Sequence[tuple[Text, list[str]]]) -> list[Text]:
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


def _control(control: ControlNumbers) -> Text:
    """The comparison of the first candidate with itself."""
    name = Code(clean(control.base))
    verdict = VerdictWord(control.verdict)
    ratio = ratio_of(control)
    return ["Control, ", name, " against itself: ", verdict, ", ", ratio, "."]
