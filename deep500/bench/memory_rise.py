"""By how much a call raises the memory of this process."""

from collections.abc import Callable
from typing import Any

from ..measure.sensing import sensors


def memory_rise(run: Callable[[], Any]) -> tuple[int | None, int | None]:
    """By how many bytes memory rises during the call, and its peak so far; None where the system does not tell."""
    with sensors() as before:
        pass
    with sensors() as during:
        outputs = run()
    del outputs
    start = before.readings()["memory_current"].value
    peak = during.readings()["memory_peak"].value
    rise = None
    if start is not None and peak is not None:
        rise = max(0, int(peak - start))
    return rise, None if peak is None else int(peak)
