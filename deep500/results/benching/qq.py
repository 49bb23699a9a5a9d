"""How far the times of each entry are from a normal distribution: a Q-Q plot."""

import numpy as np

from ...measure.statistics.distributions import normal_quantile
from ...reports.blocks import Picture
from ...reports.canvas import INK, colour, dashes, figure, legend_below, svg
from ...reports.tables import number
from .data import ReportData
from .series import omitted, series

POINTS = 200  # a quantile more would not be seen
SHOWN = 6.0  # standard deviations, to either side
FEWEST = 8
CAPTION = (
    "Points on the grey line would be normal; a curve that bends up at its right end has a heavy tail. Nothing above "
    "assumes normal values: intervals come from ranks. "
)


def normal_quantiles(data: ReportData) -> Picture | None:
    """The quantiles of each entry, in units of its middle half, against those of a normal distribution."""
    drawn = [one for one in series(data) if _has_spread(one.values)]
    if not drawn:
        return None
    canvas = figure(3.3 + 0.2 * ((len(drawn) + 1) // 2))
    axes = canvas.subplots()
    axes.set_xlabel("quantile of a normal distribution (standard deviations)")
    axes.set_ylabel("quantile of the times (the same scale)")
    axes.plot([-3.2, 3.2], [-3.2, 3.2], color=INK, lw=0.8)
    axes.set_xlim(-3.2, 3.2)
    axes.set_ylim(-SHOWN, SHOWN)
    axes.grid()
    told = []
    for one in drawn:
        theory, values = qq_points(one.values)
        axes.plot(
            theory,
            values,
            color=colour(one.index),
            ls=dashes(one.index),
            lw=1.6,
            label=one.label,
        )
        told.append(f"{one.label} {number(straightness(one.values), 3)}")
    legend_below(canvas, min(len(drawn), 2))
    return Picture(
        name="qq",
        title="Are the times normal?",
        svg=svg(canvas, "qq", "Quantiles against those of a normal distribution"),
        caption=f"{CAPTION}Correlation with a line (normal: near 1): {', '.join(told)}."
        + omitted(data),
    )


def qq_points(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Normal quantiles and those of the values, in units that the middle half of a normal sample would have."""
    shares = (np.arange(POINTS) + 0.5) / POINTS
    if len(values) < POINTS:
        shares = (np.arange(len(values)) + 0.5) / len(values)
    theory = normal_quantile(shares)
    lower, middle, upper = np.quantile(values, (0.25, 0.5, 0.75))
    box = normal_quantile([0.75])[0] * 2
    return theory, (np.quantile(values, shares) - middle) / ((upper - lower) / box)


def straightness(values: np.ndarray) -> float:
    """The correlation of the ordered values with normal quantiles (Filliben, 1975)."""
    ordered = np.sort(values)
    theory = normal_quantile((np.arange(len(ordered)) + 0.5) / len(ordered))
    return float(np.corrcoef(theory, ordered)[0, 1])


def _has_spread(values: np.ndarray) -> bool:
    if len(values) < FEWEST:
        return False
    lower, upper = np.quantile(values, (0.25, 0.75))
    return bool(upper > lower)
