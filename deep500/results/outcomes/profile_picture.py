"""Performance profiles as a picture: for every system, the share of problems within a factor of the best."""

import numpy as np

from ...measure.statistics.profiles import Profiles
from ...reports.blocks import Picture
from ...reports.canvas import (
    colour,
    dashes,
    figure,
    for_phones_too,
    labels,
    legend_below,
    settings,
    svg,
    wrapped,
)

CAPTION = (
    "A curve is one system. At τ it shows on how many of the problems the system costs at most τ times as much as the "
    "best system there: the height at 1 is how often it is the best, the height at the right end how often it "
    "arrives at all. Higher and further left is better. "
)
TICKS = (1, 1.25, 1.5, 2, 3, 4, 6, 8)


def profile_pictures(profiles: Profiles, metric: str) -> list[Picture]:
    """The picture of the profiles, for wide screens and for phones."""
    return for_phones_too(lambda: [_profile_picture(profiles, metric)])


def _profile_picture(profiles: Profiles, metric: str) -> Picture:
    """One step function for each system, over τ on a logarithmic axis."""
    with settings():
        canvas = figure(3.9)
        axes = canvas.subplots()
        names = labels(profiles.order)
        right_end = 1.05 * profiles.tau_max
        for i, profile in enumerate(profiles.systems):
            finite = [ratio for ratio in profile.ratios if np.isfinite(ratio)]
            taus = sorted({1.0, *finite, right_end})
            shares = [100 * profile.share(tau) for tau in taus]
            axes.step(
                taus,
                shares,
                where="post",
                color=colour(i),
                ls=dashes(i),
                lw=1.8,
                label=names[profile.system],
            )
        axes.set_xscale("log")
        axes.set_xlim(0.98, right_end)
        ticks = [tau for tau in TICKS if tau <= profiles.tau_max]
        axes.set_xticks(ticks, [f"{tau:g}" for tau in ticks])
        axes.minorticks_off()
        axes.set_ylim(-3, 103)
        label = f"τ: {metric} over that of the best system (log scale)"
        axes.set_xlabel(wrapped(label))
        axes.set_ylabel("problems within τ (%)")
        axes.grid()
        legend_below(canvas, 2)
        problems = len(profiles.problems)
        count = "n = 1 problem." if problems == 1 else f"n = {problems} problems."
        drawn = svg(canvas, "profiles", "Performance profiles of all systems")
        return Picture("profiles", "Performance profiles", drawn, CAPTION + count)
