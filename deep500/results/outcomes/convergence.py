"""How the task's first quality converges over the steps: the median of all seeds, and bands around it."""

from typing import TYPE_CHECKING

from ...contracts.task import Quality
from ...reports.blocks import Picture
from ...reports.canvas import colour, figure, legend_below, svg
from ...reports.tables import percent
from ...reports.text import clean
from ...training.metric_summary import qualities
from .curves import draw_targets, quality_label
from .data import OutcomeData
from .seed_bands import SeedBand, draw_median, draw_range, seed_band

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FEWEST = 2  # seeds for a band
CAPTION = (
    "Line: the median over seeds of the validation {name} after every epoch. Light band: from the worst to the best "
    "seed. {inner}Only epochs that every seed has reached are drawn. n = {n} seeds."
)
INNER = "Dark band: the {level} interval of the median, epoch by epoch. "


def convergence(data: OutcomeData) -> Picture | None:
    """The curve with its bands; None with fewer than two seeds or epochs."""
    main = next(iter(qualities(data.plan).values()))
    band = convergence_band(data, main)
    if band is None:
        return None
    name = clean(main.name)
    level = percent(data.plan.level)
    canvas = figure(3.7)
    axes = canvas.subplots()
    axes.set_xlabel("step")
    axes.set_ylabel(quality_label(main))
    axes.grid()
    _draw_band(axes, band, level)
    draw_targets(axes, data, main)
    legend_below(canvas, 3)
    inner = ""
    if band.low is not None:
        inner = INNER.format(level=level)
    caption = CAPTION.format(name=name, inner=inner, n=len(data.runs))
    title = f"Convergence of the {name} over steps"
    return Picture("convergence", title, svg(canvas, "convergence", title), caption)


def _draw_band(axes: "Axes", band: SeedBand, level: str) -> None:
    """The range of all seeds, the interval of the median within it, and the median as a line."""
    ink = colour(0)
    draw_range(axes, band.steps, band, ink, "all seeds")
    if band.low is not None and band.high is not None:
        axes.fill_between(
            band.steps,
            band.low,
            band.high,
            color=ink,
            alpha=0.35,
            lw=0,
            label=f"{level} interval of the median",
        )
    draw_median(axes, band.steps, band, ink, "median over seeds")


def convergence_band(data: OutcomeData, main: Quality) -> SeedBand | None:
    """Median, range and interval over seeds for every epoch that all of them have."""
    if len(data.runs) < FEWEST:
        return None
    band = seed_band(data.runs, main, data.plan.level)
    if band is None or len(band.steps) < FEWEST:
        return None
    return band
