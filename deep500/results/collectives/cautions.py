"""What a reader has to know of how collectives were measured."""

from collections.abc import Sequence

from ...measure.sensing.others import BUSY
from ...reports.tables import percent, seconds
from ...reports.text import Text, clean
from .data import CollectiveLaunch

NANO = 1e-9


def cautions(blocks: Sequence[CollectiveLaunch]) -> list[Text]:
    """Start, clocks, processors and others, for every transport and number of ranks."""
    lines: list[Text] = [
        "time: of each call, that of the slowest rank; then the median over calls and launches. "
        "algbw = bytes / time; busbw as nccl-tests define it.",
        "The array is put back before every call, and is in the caches as far as they hold it.",
    ]
    settings = dict.fromkeys((b.transport, b.ranks) for b in blocks)
    for transport, ranks in settings:
        own = [b for b in blocks if (b.transport, b.ranks) == (transport, ranks)]
        good = [block for block in own if block.rows]
        if good:
            where = f"{ranks} ranks over {transport}"
            lines += [f"{where}: {text}" for text in _of_setting(good, ranks)]
    return lines


def _of_setting(blocks: Sequence[CollectiveLaunch], ranks: int) -> list[str]:
    first = blocks[0]
    lines = [f"{clean(first.library)}, on {clean(first.machine)}"]
    lines.append(_start(blocks))
    if first.start != "virtual" and ranks > first.cpus:
        lines.append(
            f"more ranks than processors ({first.cpus}): they share them, and a time is also a matter of the scheduler"
        )
    busy = [block.others for block in blocks if block.others is not None]
    if busy and max(busy) > BUSY:
        lines.append(
            f"a busy machine: others used up to {percent(max(busy), 2)} of the processors"
        )
    return lines


def _start(blocks: Sequence[CollectiveLaunch]) -> str:
    """How ranks began together, and by how much their clocks were off."""
    starts = [block.start for block in blocks]
    if "virtual" in starts:
        return "virtual time, which needs no start"
    windows = [block for block in blocks if block.start == "window"]
    if not windows:
        return f"behind a barrier ({len(blocks)} launches), which says nothing about when ranks leave it"
    delays = [block.delay for block in windows]
    residuals = [abs(one) for block in windows for one in block.residual]
    bounds = [one for block in windows for one in block.bound]
    text = (
        f"at the end of a window of {seconds(NANO * min(delays))} to {seconds(NANO * max(delays))}; clocks were off by "
        f"at most {seconds(NANO * max(residuals))}, which exchanges tell within {seconds(NANO * max(bounds))}"
    )
    if len(windows) < len(blocks):
        text += f"; {len(blocks) - len(windows)} of {len(blocks)} launches behind a barrier, windows being too long"
    return text
