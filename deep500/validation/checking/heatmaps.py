"""Arrays of any rank as heat-maps: where a result differs from the truth, and where it varies between runs."""

import io
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...errors import Deep500Error
from ...reports.canvas import figure, settings, svg
from .differences import (
    absolute,
    differences,
    ulps,
    variance,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 400  # cells along an axis of the picture; the largest of each block is drawn where there are more


def difference_map(path: Path, got: np.ndarray, want: np.ndarray, title: str) -> Path:
    """Write |got - want| and its ULPs as two maps, with L1, L2, maximum, relative and ULP in numbers."""
    found = differences(got, want)
    numbers = (
        f"L1 {found.l1:.4g}   L2 {found.l2:.4g}   maximum {found.maximum:.4g}   "
        f"relative {found.relative:.4g}   ULP {found.ulp:.4g}"
    )
    maps = {"|got − want|": absolute(got, want), "difference in ULP": ulps(got, want)}
    return _written(
        path, maps, f"{title}: difference from the truth\n{numbers}", "difference"
    )


def variance_map(path: Path, runs: np.ndarray, title: str) -> Path:
    """Write the variance of every element over runs as a map."""
    over = variance(list(runs))
    numbers = f"{len(runs)} runs   largest variance {np.max(over, initial=0):.4g}   mean {np.mean(over):.4g}"
    return _written(
        path, {"variance": over}, f"{title}: variance over runs\n{numbers}", "variance"
    )


def flattened(values: np.ndarray) -> tuple[np.ndarray, str, str]:
    """A matrix as near to a square as its axes allow, and which axes its rows and columns are; a vector is wrapped."""
    shape = values.shape
    if values.ndim < 2:
        width = (
            max(1, math.ceil(math.sqrt(values.size)))
            if values.size > 64
            else max(1, values.size)
        )
        padded = np.full(-(-max(values.size, 1) // width) * width, np.nan)
        padded[: values.size] = values.reshape(-1)
        return padded.reshape(-1, width), f"element / {width}", f"element mod {width}"
    cut = min(
        range(1, values.ndim),
        key=lambda k: abs(math.prod(shape[:k]) - math.prod(shape[k:])),
    )
    rows, columns = (
        f"axes {list(range(values.ndim))[part]} of {list(shape[part])}"
        for part in (slice(0, cut), slice(cut, None))
    )
    return values.reshape(math.prod(shape[:cut]), math.prod(shape[cut:])), rows, columns


def _written(path: Path, maps: dict[str, np.ndarray], title: str, name: str) -> Path:
    if path.suffix not in (".svg", ".png"):
        raise Deep500Error(
            f"a picture is an .svg or a .png file, and {path.name} is neither"
        )
    with settings():
        canvas = figure(3.6)
        canvas.suptitle(title, fontsize=9)
        for axes, (label, values) in zip(
            np.atleast_1d(canvas.subplots(1, len(maps))), maps.items(), strict=True
        ):
            _draw(canvas, axes, label, values)
        data = (
            _png(canvas)
            if path.suffix == ".png"
            else svg(canvas, name, f"Heat-map: {name}").encode()
        )
    try:
        path.write_bytes(data)
    except OSError as error:
        raise Deep500Error(f"cannot write {path}: {error.strerror}") from None
    return path


def _draw(canvas: "Figure", axes: "Axes", label: str, values: np.ndarray) -> None:
    from matplotlib import colormaps
    from matplotlib.ticker import MaxNLocator

    finite = np.isfinite(values)
    top = np.max(values[finite], initial=0) or 1.0
    matrix, rows, columns = flattened(
        np.where(finite, values, 2 * top)
    )  # NaN is for what pads a vector
    colours = colormaps["viridis"].with_extremes(over="#d55e00", bad="white")
    image = axes.imshow(
        _thinned(matrix),
        aspect="auto",
        cmap=colours,
        interpolation="nearest",
        vmin=0,
        vmax=top,
        extent=(-0.5, matrix.shape[1] - 0.5, matrix.shape[0] - 0.5, -0.5),
    )
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
    axes.set_title(label if finite.all() else f"{label} (orange: NaN or infinite)")
    axes.set_xlabel(columns)
    axes.set_ylabel(rows)
    canvas.colorbar(image, ax=axes)


def _thinned(matrix: np.ndarray) -> np.ndarray:
    """At most MOST cells along both axes: the largest value of every block."""
    for axis in (0, 1):
        n = matrix.shape[axis]
        if n > MOST:
            matrix = np.fmax.reduceat(
                matrix,
                np.unique(np.linspace(0, n, MOST, endpoint=False).astype(int)),
                axis,
            )
    return matrix


def _png(canvas: "Figure") -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    file = io.BytesIO()
    FigureCanvasAgg(canvas).print_png(file, metadata={"Software": None})
    return file.getvalue()
