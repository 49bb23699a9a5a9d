"""Arrays of any rank as heat-maps: where a result differs from the truth, and where it varies between runs."""

import io
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...errors import Deep500Error
from ...reports.canvas import figure, settings, svg
from .differences import absolute, differences, ulps, variance
from .formats import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 400  # cells along an axis of the picture; of more, the largest of each block is drawn
LONGEST_ROW = 64  # elements of a vector that is not wrapped


def difference_map(path: Path, got: Array, want: Array, title: str) -> Path:
    """Write |got - want| and its ULPs as two maps, with L1, L2, maximum, relative and ULP in numbers."""
    norms = differences(got, want)
    numbers = (
        f"L1 {norms.l1:.4g}   L2 {norms.l2:.4g}   maximum {norms.maximum:.4g}   "
        f"relative {norms.relative:.4g}   ULP {norms.ulp:.4g}"
    )
    maps = {
        "|got − want|": absolute(got, want),
        "difference in ULP": ulps(got, want),
    }
    heading = f"{title}: difference from the truth\n{numbers}"
    return _written(path, maps, heading, "difference")


def variance_map(path: Path, runs: Array, title: str) -> Path:
    """Write the variance of every element over runs as a map."""
    variances = variance(list(runs))
    largest = np.max(variances, initial=0)
    mean = np.mean(variances)
    numbers = f"{len(runs)} runs   largest variance {largest:.4g}   mean {mean:.4g}"
    heading = f"{title}: variance over runs\n{numbers}"
    return _written(path, {"variance": variances}, heading, "variance")


def flattened(values: Array) -> tuple[Array, str, str]:
    """A matrix as near to a square as its axes allow, and labels for its rows and columns; a vector is wrapped."""
    if values.ndim < 2:
        return _wrapped(values)
    shape = values.shape

    def imbalance(cut: int) -> int:
        height = math.prod(shape[:cut])
        width = math.prod(shape[cut:])
        return abs(height - width)

    cut = min(range(1, values.ndim), key=imbalance)
    rows = _axes_label(range(cut), shape)
    columns = _axes_label(range(cut, values.ndim), shape)
    height = math.prod(shape[:cut])
    width = math.prod(shape[cut:])
    return values.reshape(height, width), rows, columns


def _axes_label(axes: range, shape: tuple[int, ...]) -> str:
    sizes = [shape[axis] for axis in axes]
    return f"axes {list(axes)} of {sizes}"


def _wrapped(values: Array) -> tuple[Array, str, str]:
    """A vector in rows that make it nearly a square, padded with NaN; a short one in one row."""
    width = max(1, values.size)
    if values.size > LONGEST_ROW:
        width = math.ceil(math.sqrt(values.size))
    height = math.ceil(max(values.size, 1) / width)
    padded = np.full(height * width, np.nan)
    padded[: values.size] = values.reshape(-1)
    matrix = padded.reshape(-1, width)
    return matrix, f"element / {width}", f"element mod {width}"


def _written(path: Path, maps: dict[str, Array], title: str, name: str) -> Path:
    """Draw the maps side by side into this file; raises a Deep500Error if it cannot be written."""
    if path.suffix not in (".svg", ".png"):
        raise Deep500Error(
            f"a picture is an .svg or a .png file, and {path.name} is neither"
        )
    with settings():
        canvas = figure(3.6)
        canvas.suptitle(title, fontsize=9)
        subplots = canvas.subplots(1, len(maps), squeeze=False)[0]
        for axes, (label, values) in zip(subplots, maps.items(), strict=True):
            _draw(canvas, axes, label, values)
        if path.suffix == ".png":
            data = _png(canvas)
        else:
            text = svg(canvas, name, f"Heat-map: {name}")
            data = text.encode()
    try:
        path.write_bytes(data)
    except OSError as error:
        raise Deep500Error(f"cannot write {path}: {error.strerror}") from None
    return path


def _draw(canvas: "Figure", axes: "Axes", label: str, values: Array) -> None:
    from matplotlib import colormaps
    from matplotlib.ticker import MaxNLocator

    finite = np.isfinite(values)
    top = np.max(values[finite], initial=0) or 1.0
    drawn_values = np.where(finite, values, 2 * top)  # NaN is for the padding
    matrix, rows, columns = flattened(drawn_values)
    height, width = matrix.shape
    colours = colormaps["viridis"].with_extremes(over="#d55e00", bad="white")
    image = axes.imshow(
        _thinned(matrix),
        aspect="auto",
        cmap=colours,
        interpolation="nearest",
        vmin=0,
        vmax=top,
        extent=(-0.5, width - 0.5, height - 0.5, -0.5),
    )
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
    if not finite.all():
        label += " (orange: NaN or infinite)"
    axes.set_title(label)
    axes.set_xlabel(columns)
    axes.set_ylabel(rows)
    canvas.colorbar(image, ax=axes)


def _thinned(matrix: Array) -> Array:
    """At most MOST cells along both axes: the largest value of every block."""
    for axis in (0, 1):
        n = matrix.shape[axis]
        if n > MOST:
            starts = np.linspace(0, n, MOST, endpoint=False).astype(int)
            matrix = np.fmax.reduceat(matrix, np.unique(starts), axis)
    return matrix


def _png(canvas: "Figure") -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    file = io.BytesIO()
    FigureCanvasAgg(canvas).print_png(file, metadata={"Software": None})
    return file.getvalue()
