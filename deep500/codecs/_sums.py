"""Sums whose order is fixed, so that NumPy and C++ give the same bits."""

import numpy as np

from . import _native

LANES = 8
ROW = 4096  # elements that are added up in lanes before their sum joins the others


def row_sums(rows: np.ndarray) -> np.ndarray:
    """The sum of every row in float64: eight lanes, then the lanes in pairs."""
    width = -(-rows.shape[1] // LANES) * LANES
    padded = np.zeros((len(rows), width))
    padded[:, : rows.shape[1]] = rows
    lanes = np.zeros((len(rows), LANES))
    for start in range(0, width, LANES):
        lanes += padded[:, start : start + LANES]
    pairs = lanes[:, 0::2] + lanes[:, 1::2]
    halves = pairs[:, 0::2] + pairs[:, 1::2]
    return halves[:, 0] + halves[:, 1]


def moments(x: np.ndarray) -> tuple[float, float]:
    """The sum of the elements and the sum of their squares, in float64."""
    rows = -(-x.size // ROW)
    sums, squares = np.empty(rows), np.empty(rows)
    loop = f"moments{_native.width(x.dtype)}"
    if not _native.call(loop, x, x.size, ROW, sums, squares):
        padded = np.zeros((rows, ROW))
        padded.reshape(-1)[: x.size] = x
        sums, squares = row_sums(padded), row_sums(padded * padded)
    return _in_order(sums), _in_order(squares)


def _in_order(values: np.ndarray) -> float:
    """The sum from the first to the last; NumPy's own sum would go in pairs."""
    return float(np.cumsum(values)[-1]) if values.size else 0.0
