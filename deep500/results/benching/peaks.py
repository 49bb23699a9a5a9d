"""The peaks of a machine as a table: what was reached at best, what is usual, and what others did meanwhile."""

from ...measure.bounds.peak_cache import Peaks
from ...measure.bounds.peak_kernels import Peak
from ...reports.blocks import Block, Bullets, Table
from ...reports.tables import NOTHING, Number, count, number
from ...reports.text import Text, clean
from .contents import rounded


def peaks_blocks(found: Peaks, before: Peaks | None) -> list[Block]:
    """One row per peak; `before` holds those that were kept until now."""
    named = [*found.flops.items(), ("memory", found.bandwidth)]
    rows = [_row(name, peak, _same(name, before)) for name, peak in named]
    headers = [
        "peak of",
        "best",
        "median [95 % interval], n",
        "others used",
        "measured",
        "before",
    ]
    kernels = [f"{name}: {clean(peak.what)}" for name, peak in named]
    return [
        Table(headers, rows, "lrlrlr"),
        Bullets([*kernels, *([clean(found.caveat)] if found.caveat else [])]),
    ]


def _same(name: str, peaks: Peaks | None) -> Peak | None:
    if peaks is None:
        return None
    return peaks.bandwidth if name == "memory" else peaks.flops.get(name)


def _row(name: str, peak: Peak, before: Peak | None) -> list[Text]:
    unit = "GB/s" if peak.unit == "B/s" else "GFLOP/s"
    usual: Text = f"refused, {count(peak.n)}"
    if peak.median is not None and peak.low is not None and peak.high is not None:
        median, low, high = (
            number(value / 1e9) for value in (peak.median, peak.low, peak.high)
        )
        usual = Number(f"{median} {unit}", f"[{low}, {high}]", count(peak.n))
    others = NOTHING if peak.others is None else f"{rounded(peak.others)} of the CPUs"
    kept = NOTHING if before is None else f"{number(before.value / 1e9)} {unit}"
    return [
        name,
        f"{number(peak.value / 1e9)} {unit}",
        usual,
        others,
        clean(peak.measured),
        kept,
    ]
