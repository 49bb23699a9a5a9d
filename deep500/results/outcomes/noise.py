"""The rounding of low precision beside the choice of minibatches, epoch by epoch."""

import math
from collections.abc import Sequence
from statistics import median

from ...contracts.metric import History
from ...reports.blocks import Block, Bullets, Section, Table
from ...reports.tables import count
from ...reports.text import Text
from .data import OutcomeData

SERIES = ("minibatch noise", "rounding noise")
MOST_EPOCHS = 12  # rows of the table
HOW = (
    "Variances are summed over all elements of the gradient, at the weights after the epoch: of the float32 gradient "
    "between minibatches, and the mean square of what low precision changes in it on the same minibatches. Rounding "
    "the weights themselves after an update is not in there."
)


def noise_section(data: OutcomeData) -> list[Block]:
    """A table for a run in low precision; nothing for one in float32."""
    runs = [run for run in data.runs if _epochs(run)]
    if not runs:
        return []
    epochs = min(_epochs(run) for run in runs)
    rows = [_row(runs, epoch) for epoch in _shown_epochs(epochs)]
    headers = ["after epoch", *SERIES, "rounding / minibatch", "seeds"]
    notes: list[Text] = [HOW, *_skipped(runs)]
    return [
        Section("Rounding beside the minibatch", [Table(headers, rows, "rrrrr"), Bullets(notes)])
    ]


def _epochs(run: History) -> int:
    return min(len(run.series.get(name, [])) for name in SERIES)


def _shown_epochs(epochs: int) -> list[int]:
    """All epochs, or some of many, the first and the last among them."""
    if epochs <= MOST_EPOCHS:
        return list(range(epochs))
    places = [round(i * (epochs - 1) / (MOST_EPOCHS - 1)) for i in range(MOST_EPOCHS)]
    return sorted(set(places))


def _row(runs: Sequence[History], epoch: int) -> list[Text]:
    minibatch, rounding = (_median(runs, name, epoch) for name in SERIES)
    ratio = rounding / minibatch if minibatch else math.nan
    numbers = [_number(value) for value in (minibatch, rounding, ratio)]
    return [str(epoch + 1), *numbers, count(len(runs))]


def _median(runs: Sequence[History], name: str, epoch: int) -> float:
    return median(run.series[name][epoch] for run in runs)


def _number(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "not finite"


def _skipped(runs: Sequence[History]) -> list[str]:
    skipped = [int(run.counters.get("skipped steps", 0)) for run in runs]
    steps = sum(run.steps for run in runs)
    return [
        f"{sum(skipped)} of {steps} steps were skipped, because a scaled gradient was not finite."
    ]
