"""The rounding of low precision beside the choice of minibatches, epoch by epoch."""

import math
from collections.abc import Sequence

import numpy as np

from ...contracts.metric import History
from ...reports.blocks import Block, Bullets, Section, Table
from ...reports.tables import NOTHING, count
from ...reports.text import Text
from .data import OutcomeData

MINIBATCH = "minibatch noise"
ROUNDING = "rounding noise"
MOST_EPOCHS = 12  # rows of the table
HEADERS = ("after epoch", MINIBATCH, ROUNDING, "rounding / minibatch", "seeds")
HOW = (
    "Variances are summed over all elements of the gradient, at the weights after the epoch: of the float32 gradient "
    "between minibatches, and the mean square of what low precision changes in it on the same minibatches. Rounding "
    "the weights themselves after an update is not in there."
)


def noise_section(data: OutcomeData) -> list[Block]:
    """A table for a run in low precision; nothing for one in float32."""
    runs = [run for run in data.runs if _measured_epochs(run)]
    if not runs:
        return []
    epochs = min(map(_measured_epochs, runs))
    rows = [_row(runs, epoch) for epoch in _shown_epochs(epochs)]
    notes = [HOW, _skipped(runs)]
    table = Table(HEADERS, rows, "rrrrr")
    return [Section("Rounding beside the minibatch", [table, Bullets(notes)])]


def _measured_epochs(run: History) -> int:
    """After how many epochs the noise was measured."""
    minibatch = run.series.get(MINIBATCH, [])
    rounding = run.series.get(ROUNDING, [])
    return min(len(minibatch), len(rounding))


def _shown_epochs(epochs: int) -> list[int]:
    """All epochs, or some of many, the first and the last among them."""
    if epochs <= MOST_EPOCHS:
        return list(range(epochs))
    places = np.linspace(0, epochs - 1, MOST_EPOCHS)
    return np.unique(places.round()).astype(int).tolist()


def _row(runs: Sequence[History], epoch: int) -> list[Text]:
    minibatch = _median(runs, MINIBATCH, epoch)
    rounding = _median(runs, ROUNDING, epoch)
    share = NOTHING
    if minibatch > 0:
        share = _number(rounding / minibatch)
    cells = [_number(minibatch), _number(rounding), share]
    return [str(epoch + 1), *cells, count(len(runs))]


def _median(runs: Sequence[History], name: str, epoch: int) -> float:
    values = [run.series[name][epoch] for run in runs]
    return float(np.median(values))


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "not finite"
    return f"{value:.3g}"


def _skipped(runs: Sequence[History]) -> str:
    skipped = steps = 0
    for run in runs:
        skipped += int(run.counters.get("skipped steps", 0))
        steps += run.steps
    return f"{skipped} of {steps} steps were skipped, because a scaled gradient was not finite."
