"""The peaks of a machine as a table: what was reached at best, what is usual, and what others did meanwhile."""

from ...measure.bounds.peak_cache import Peaks
from ...measure.bounds.peak_kernels import Peak
from ...reports.blocks import Block, Bullets, Table
from ...reports.tables import NOTHING, Number, count, number
from ...reports.text import Text, clean
from .contents import rounded

HEADERS = [
    "peak of",
    "best",
    "median [95 % interval], n",
    "others used",
    "measured",
    "before",
]


def peaks_blocks(peaks: Peaks, before: Peaks | None) -> list[Block]:
    """One row per peak; `before` holds the peaks that were stored until now."""
    named_peaks = [*peaks.flops.items(), ("memory", peaks.bandwidth)]
    rows = []
    notes = []
    for name, peak in named_peaks:
        rows.append(_row(name, peak, _peak_of(name, before)))
        notes.append(f"{name}: {clean(peak.what)}")
    if peaks.caveat:
        notes.append(clean(peaks.caveat))
    return [Table(HEADERS, rows, "lrlrlr"), Bullets(notes)]


def _peak_of(name: str, peaks: Peaks | None) -> Peak | None:
    if peaks is None:
        return None
    if name == "memory":
        return peaks.bandwidth
    return peaks.flops.get(name)


def _row(name: str, peak: Peak, before: Peak | None) -> list[Text]:
    unit = "GB/s" if peak.unit == "B/s" else "GFLOP/s"
    others = stored = NOTHING
    if peak.others is not None:
        others = f"{rounded(peak.others)} of the CPUs"
    if before is not None:
        stored = f"{_giga(before.value)} {unit}"
    return [
        name,
        f"{_giga(peak.value)} {unit}",
        _median(peak, unit),
        others,
        clean(peak.measured),
        stored,
    ]


def _median(peak: Peak, unit: str) -> Text:
    if peak.median is None or peak.low is None or peak.high is None:
        return f"refused, {count(peak.n)}"
    value = f"{_giga(peak.median)} {unit}"
    low = _giga(peak.low)
    high = _giga(peak.high)
    return Number(value, f"[{low}, {high}]", count(peak.n))


def _giga(value: float) -> str:
    return number(value / 1e9)
