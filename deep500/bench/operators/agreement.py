"""Whether operators that are compared run, and compute the same."""

from collections.abc import Sequence

import numpy as np

from ...errors import Deep500Error
from ..benchmark import Trial
from .truth import shared_arrays


def check_rivals(trials: Sequence[Trial]) -> None:
    """Raise a Deep500Error if a user's operator that is to be compared runs on none of the frameworks."""
    reasons: dict[str, list[str]] = {}
    running = set()
    for trial in trials:
        if not trial.job.rival or not trial.job.is_own_code:
            continue
        if trial.state == "unsupported":
            reasons.setdefault(trial.job.operator, []).append(trial.text)
        else:
            running.add(trial.job.operator)
    for operator, texts in reasons.items():
        if operator not in running:
            raise Deep500Error(
                f"{operator} cannot be compared with the others: {texts[0]}"
            )


def differing_rivals(trials: Sequence[Trial]) -> dict[str, str]:
    """Which rivals compute something else than the first of them, by their names."""
    first_at: dict[tuple, Trial] = {}
    differing = {}
    for trial in trials:
        if not trial.job.rival or trial.state != "ok":
            continue
        levels = tuple(trial.job.levels.values())
        first = first_at.setdefault(levels, trial)
        if fault := _difference(first, trial):
            differing[trial.name] = fault
    return differing


def _difference(first: Trial, other: Trial) -> str:
    """How far the exact results of two rivals are apart, if rounding does not explain it."""
    if first.result["truth"] == other.result["truth"]:
        return ""
    arrays = []
    for trial in (first, other):
        for part in ("outputs", "output_bounds"):
            arrays.append(shared_arrays(trial.result["truth"], part))
    if any(part is None for part in arrays):
        return ""  # too large to be shared
    base = first.job.rival
    for a, bound_a, b, bound_b in zip(*arrays, strict=False):
        if a.shape != b.shape:
            return f"it gives {list(b.shape)} where {base} gives {list(a.shape)}"
        with np.errstate(all="ignore"):
            apart = np.abs(np.subtract(a, b, dtype="float64"))
            is_beyond = apart > bound_a + bound_b
        if is_beyond.any():
            largest = float(apart[is_beyond].max())
            count = int(is_beyond.sum())
            return (
                f"it computes something else than {base}: {count} of {a.size} results differ, by up to "
                f"{largest:.3g}"
            )
    return ""
