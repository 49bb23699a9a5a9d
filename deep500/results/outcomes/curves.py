"""The task's first quality over time and loss over steps, a line for each seed."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from ...contracts.metric import History
from ...contracts.task import Quality
from ...reports.blocks import Picture
from ...reports.canvas import (
    INK,
    MOST_ENTRIES,
    colour,
    dashes,
    figure,
    number_axis,
    svg,
    time_axis,
)
from ...reports.tables import is_number
from ...reports.text import clean
from ...training.outcome import qualities
from ..benching.series import LARGEST, thinned
from .contents import metric_name
from .data import OutcomeData

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_SEEDS = 40  # lines that a picture can hold
MOST_STEPS = 6000  # of all lines together
WIDE = 30  # from this ratio of the largest to the smallest on, an axis is logarithmic
DASHES: Sequence[Any] = ((0, (5, 3)), (0, (1.5, 1.5)), "-.")
CURVES = (
    "A point is the validation {0} after an epoch; the time is that of training steps alone. Lines join the "
    "epochs of one seed: a curve over time may be interpolated, seeds may not be, and are not joined. Diamonds: the "
    "test {0} at the end, which training never looks at."
)


def quality(data: OutcomeData) -> Picture | None:
    """The task's first quality on validation data against seconds of training."""
    main = next(iter(qualities(data.plan).values()))
    name = clean(main.name)
    curves = [
        (i, run, _points(run, main)) for i, run in enumerate(data.runs[:MOST_SEEDS])
    ]
    curves = [(i, run, points) for i, run, points in curves if len(points)]
    if not curves:
        return None
    canvas = figure(3.9)
    axes = canvas.subplots()
    times = np.concatenate([points[:, 0] for *_, points in curves])
    log = bool(times.max() > WIDE * times.min())
    low, high = (
        (times.min() / 1.15, times.max() * 1.15) if log else (0.0, 1.04 * times.max())
    )
    axes.set_xlabel(
        f"time of training ({time_axis(axes, 'x', float(low), float(high), log)})"
    )
    axes.set_ylabel(f"{name} ({clean(main.unit)})" if main.unit else name)
    axes.grid()
    for i, run, points in curves:
        axes.plot(
            *points.T,
            color=colour(i),
            ls=dashes(i),
            lw=1.2,
            marker="o",
            ms=3,
            label=f"seed {run.seed}",
        )
        test = run.final("test", main.name)
        if drawable(test, main):
            axes.plot(
                points[-1, 0],
                test,
                marker="D",
                ms=7,
                mfc="none",
                mec=colour(i),
                mew=1.6,
                ls="none",
            )
    axes.plot(
        [],
        [],
        marker="D",
        ms=6,
        mfc="none",
        mec=INK,
        mew=1.4,
        ls="none",
        label=f"test {name}",
    )
    targets = draw_targets(axes, data, main)
    _legend(canvas, axes, len(curves))
    return Picture(
        "quality",
        f"{name[:1].upper()}{name[1:]} over the time of training",
        svg(
            canvas, "quality", f"Validation {name} over the time of training, per seed"
        ),
        CURVES.format(name)
        + "".join(
            f" Level {_with_unit(level, main)}: the target of {' and '.join(names)}."
            for level, names in targets.items()
        )
        + f" n = {_count(curves, data)}.",
    )


def losses(data: OutcomeData) -> Picture | None:
    """Training loss step by step."""
    runs = [(i, run, _sane(run.losses)) for i, run in enumerate(data.runs[:MOST_SEEDS])]
    runs = [(i, run, values) for i, run, values in runs if np.isfinite(values).any()]
    if not runs:
        return None
    together = np.concatenate([values for *_, values in runs])
    together = together[np.isfinite(together)]
    log = bool(together.min() > 0 and together.max() > WIDE * together.min())
    canvas = figure(3.7)
    axes = canvas.subplots()
    axes.set_xlabel("step")
    scale = number_axis(axes, "y", float(together.min()), float(together.max()), log)
    axes.set_ylabel("training loss" + f" ({scale})" * bool(scale))
    axes.grid()
    most = MOST_STEPS // len(runs)
    for i, run, values in runs:
        some = thinned(values, most)
        axes.plot(
            some + 1,
            values[some],
            color=colour(i),
            ls=dashes(i),
            lw=0.7,
            alpha=0.55,
            label=f"seed {run.seed}",
        )
    width = max(5, max(len(values) for *_, values in runs) // 20) | 1
    axes.plot(
        *_moving_median([values for *_, values in runs], width),
        color=INK,
        lw=2,
        label=f"moving median of {width} steps, all seeds",
    )
    _legend(canvas, axes, len(runs))
    thinning = (
        f" Of each seed at most {most} steps are drawn, chosen at random."
        if any(len(values) > most for *_, values in runs)
        else ""
    )
    return Picture(
        "losses",
        "Training loss step by step",
        svg(canvas, "losses", "Training loss per step and seed"),
        "Thin lines: the loss of each batch, before its update, one line per seed. The thick line is a "
        "moving median, a help for the eye and no measurement (its window is cut off at both ends)."
        f"{thinning} n = {_count(runs, data)}.",
    )


def draw_targets(
    axes: "Axes", data: OutcomeData, main: Quality
) -> dict[float, list[str]]:
    """A line for every level of the quality that the recipe names; returns the levels and whose they are."""
    targets = _targets(data, main)
    for i, level in enumerate(targets):
        axes.axhline(
            level,
            color=INK,
            lw=1.3,
            ls=DASHES[i % len(DASHES)],
            label=f"target {_with_unit(level, main)}",
        )
    return targets


def _points(run: History, main: Quality) -> np.ndarray:
    """Seconds and quality after every epoch, as far as they can be drawn."""
    points = []
    for evaluation in run.evaluations:
        value = evaluation["validation"].get(main.name)
        if 0 < evaluation["seconds"] < LARGEST and drawable(value, main):
            points.append((evaluation["seconds"], value))
    return np.array(points)


def drawable(value: object, main: Quality) -> TypeGuard[float]:
    """Whether a value of the quality is a number that fits into a picture."""
    if not is_number(value) or not abs(value) < LARGEST:
        return False
    return main.unit != "%" or 0 <= value <= 100


def _with_unit(level: float, main: Quality) -> str:
    return f"{level:g} {clean(main.unit)}".rstrip()


def _sane(values: Sequence[float]) -> np.ndarray:
    array = np.asarray(values, float)
    return np.where(np.abs(array) < LARGEST, array, np.nan)


def _targets(data: OutcomeData, main: Quality) -> dict[float, list[str]]:
    """The levels of the quality that the recipe names, and what they are the target of."""
    levels: dict[float, list[str]] = {}
    for m in data.metrics:
        level, name = _level(m, main)
        if drawable(level, main):
            levels.setdefault(level, []).append(name)
    return levels


def _level(m: Mapping[str, Any], main: Quality) -> tuple[Any, str]:
    """The level of the quality that one metric is about; None if it is about something else."""
    if m["settings"].get("name") == main.name:
        return m["target"], metric_name(m)
    if main.name != "accuracy":
        return None, ""
    if m["unit"] == "s":
        return m["settings"].get("target"), metric_name({**m, "settings": {}})
    return (m["target"], metric_name(m)) if m["unit"] == "%" else (None, "")


def _moving_median(runs: list[np.ndarray], width: int) -> tuple[np.ndarray, np.ndarray]:
    longest = max(map(len, runs))
    places = np.unique(
        np.linspace(0, longest - 1, min(longest, 250)).round().astype(int)
    )
    near = [
        np.concatenate(
            [values[max(0, p - width // 2) : p + width // 2 + 1] for values in runs]
        )
        for p in places
    ]
    return places + 1, np.array(
        [np.nanmedian(v) if np.isfinite(v).any() else np.nan for v in near]
    )


def _legend(canvas: "Figure", axes: "Axes", seeds: int) -> None:
    """Seeds are named as long as they can be told apart."""
    handles, names = axes.get_legend_handles_labels()
    kept = [
        (h, n)
        for h, n in zip(handles, names, strict=True)
        if seeds <= MOST_ENTRIES or not n.startswith("seed ")
    ]
    canvas.legend(
        *zip(*kept, strict=True),
        loc="outside lower left",
        ncols=4,
        frameon=False,
        handlelength=2.4,
    )


def _count(drawn: Sequence[Any], data: OutcomeData) -> str:
    total = len(data.runs)
    return (
        f"{total} seeds"
        if len(drawn) == total
        else f"{total} seeds, of which {len(drawn)} are drawn"
    )
