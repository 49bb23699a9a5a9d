"""What the times of operators mean: rates, the share of the machine's roofline, memory, and whose kernel it was."""

from collections.abc import Mapping
from typing import Any

from ...measure.bounds.peak_cache import peaks_from_json
from ...reports.blocks import Table
from ...reports.tables import (
    NOTHING,
    Number,
    count,
    is_number,
    number,
    percent,
)
from ...reports.text import (
    Code,
    Text,
    clean,
    listed,
    plain,
)
from .contents import absolute
from .data import ReportData

KERNELS = {
    "native": "the framework's own kernel",
    "composed": "our formula over the framework's arrays",
    "compiled": "our formula through the framework's own compiler",
}


def rates(data: ReportData) -> Table:
    """One row per operator measured; empty for other measurements."""
    headers = [
        "problem",
        "direction",
        "dtype",
        "framework",
        "kernel",
        "median [interval], n",
        "GFLOP/s",
        "GB/s",
        "of the roofline",
        "memory of a call",
    ]
    rows = [
        _row(entry, work)
        for entry in data.entries
        if (work := _work(data, entry["name"]))
    ]
    return Table(headers, rows, "llllllrrrr")


def remarks(data: ReportData) -> list[Text]:
    """What was left out, what is wrong, what the words mean."""
    about = data.plan.get("about")
    if not isinstance(about, Mapping):
        return []
    found: list[Text] = [clean(about["scope"]) + "."] if about.get("scope") else []
    for key, words in (
        ("wrong", "WRONG, and so without a time"),
        ("left_out", "left out"),
    ):
        found += [
            [f"{words}: ", *listed([Code(name) for name in names]), f": {reason}"]
            for reason, names in _by_reason(about.get(key)).items()
        ]
    used = {
        str(work.get("kernel"))
        for e in data.entries
        if (work := _work(data, e["name"]))
    }
    if used:
        found.append(
            "; ".join(f"{word}: {KERNELS[word]}" for word in KERNELS if word in used)
            + (
                "; ratios between them compare different programs"
                if len(used) > 1
                else ""
            )
            + "."
        )
        found.append(
            "Right before and after: the outputs of the very callables that were timed were checked in every "
            f"process. Inputs: {plain(about.get('inputs', NOTHING))}. Threads: "
            f"{plain(about.get('threads', NOTHING))}. Memory: by how much the peak of the process rises in a "
            "call."
        )
    return found + _peaks(about.get("peaks")) + _alarms(data)


def _peaks(peaks: object) -> list[Text]:
    """The caveat of peaks from a busy moment."""
    if not isinstance(peaks, Mapping):
        return []
    caveat = peaks_from_json(peaks).caveat
    return [f"Shares of the roofline with care: {clean(caveat)}."] if caveat else []


def _by_reason(entries: object) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, reason in entries.items() if isinstance(entries, Mapping) else ():
        found.setdefault(clean(reason), []).append(clean(name))
    return found


def _alarms(data: ReportData) -> list[Text]:
    """Faster than memory allows: data that stay in a cache, or a wrong count."""
    over = [e for e in data.entries if _part(e, "roofline").get("alarm")]
    if not over:
        return []
    first = clean(_part(over[0], "roofline")["alarm"])
    return [
        f"{len(over)} of {len(data.entries)} entries are above the roofline, which knows no caches: {first}"
    ]


def _row(entry: Mapping[str, Any], work: Mapping[str, Any]) -> list[Text]:
    words = [
        plain(work.get(key, NOTHING))
        for key in ("problem", "direction", "dtype", "framework", "kernel")
    ]
    return [
        *words,
        absolute(entry),
        _rate(_part(entry, "flops"), entry),
        _rate(_part(entry, "bytes"), entry),
        _share(_part(entry, "roofline"), entry),
        _memory(work.get("memory")),
    ]


def _work(data: ReportData, name: str) -> Mapping[str, Any]:
    entries = [
        e
        for e in data.plan.get("entries") or []
        if isinstance(e, Mapping) and e.get("name") == name
    ]
    work = entries[0].get("work") if entries else None
    return work if isinstance(work, Mapping) else {}


def _part(entry: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """One of the rates, at the median."""
    rates = entry.get("rates")
    part = rates.get(key) if isinstance(rates, Mapping) else None
    return part if isinstance(part, Mapping) else {}


def _rate(part: Mapping[str, Any], entry: Mapping[str, Any]) -> Text:
    if not all(is_number(part.get(key)) for key in ("value", "low", "high")):
        return NOTHING
    value, low, high = (number(part[key] / 1e9) for key in ("value", "low", "high"))
    return Number(value, f"[{low}, {high}]", count(entry.get("n")))


def _share(part: Mapping[str, Any], entry: Mapping[str, Any]) -> Text:
    if not all(is_number(part.get(key)) for key in ("value", "low", "high")):
        return NOTHING
    value, low, high = (percent(part[key], 3) for key in ("value", "low", "high"))
    return f"{value} [{low}, {high}] ({plain(part.get('limited_by', NOTHING))})"


def _memory(value: object) -> str:
    if not is_number(value):
        return NOTHING
    return (
        f"{number(value / 2**20, 1)} MiB"
        if value >= 2**20
        else f"{value / 2**10:.0f} KiB"
        if value
        else "none seen"
    )
