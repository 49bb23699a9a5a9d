"""A convolution and its gradients in float64: sums of products over the taps of the filter."""

from collections.abc import Iterator

import numpy as np

from ..contracts.convolution import ConvolutionProblem


def exact(
    problem: ConvolutionProblem, direction: str, a: np.ndarray, b: np.ndarray
) -> np.ndarray:
    """The result in float64."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    if direction == "forward":
        return _forward(problem, a, b)
    if direction == "data":
        return _data(problem, a, b)
    return _filter(problem, a, b)


def _forward(problem: ConvolutionProblem, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    padded = _padded(problem, x)
    filters = _in_groups(problem, w, 0)
    shape = problem.out_shape
    y = np.zeros((shape[0], problem.groups, -(-shape[1] // problem.groups), *shape[2:]))
    for r, s, rows, columns in _taps(problem):
        patch = padded[:, :, rows, columns]
        inputs = _in_groups(problem, patch, 1)
        y += np.einsum("ngchw,gkc->ngkhw", inputs, filters[..., r, s], optimize=True)
    return y.reshape(shape)


def _data(problem: ConvolutionProblem, dy: np.ndarray, w: np.ndarray) -> np.ndarray:
    dx = _padded(problem, np.zeros(problem.input_shape))
    filters = _in_groups(problem, w, 0)
    gradients = _in_groups(problem, dy, 1)
    for r, s, rows, columns in _taps(problem):
        part = np.einsum(
            "ngkhw,gkc->ngchw", gradients, filters[..., r, s], optimize=True
        )
        dx[:, :, rows, columns] += part.reshape(*dx.shape[:2], *part.shape[3:])
    top, left, _, _ = problem.pads
    return dx[:, :, top : top + problem.height, left : left + problem.width]


def _filter(problem: ConvolutionProblem, x: np.ndarray, dy: np.ndarray) -> np.ndarray:
    padded = _padded(problem, x)
    gradients = _in_groups(problem, dy, 1)
    dw = np.zeros(problem.filter_shape)
    for r, s, rows, columns in _taps(problem):
        inputs = _in_groups(problem, padded[:, :, rows, columns], 1)
        part = np.einsum("ngchw,ngkhw->gkc", inputs, gradients, optimize=True)
        dw[:, :, r, s] = part.reshape(dw.shape[:2])
    return dw


def _padded(problem: ConvolutionProblem, x: np.ndarray) -> np.ndarray:
    top, left, bottom, right = problem.pads
    return np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))


def _in_groups(problem: ConvolutionProblem, x: np.ndarray, axis: int) -> np.ndarray:
    """The axis of channels or filters as two: groups, and those of a group."""
    shape = x.shape
    each = shape[axis] // problem.groups
    return x.reshape(*shape[:axis], problem.groups, each, *shape[axis + 1 :])


def _taps(
    problem: ConvolutionProblem,
) -> Iterator[tuple[int, int, slice, slice]]:
    """Every tap of the kernel, with the rows and columns of the padded input that it meets."""
    _, _, height, width = problem.out_shape
    for r in range(problem.kernel[0]):
        rows = _met(r, 0, height, problem)
        for s in range(problem.kernel[1]):
            yield r, s, rows, _met(s, 1, width, problem)


def _met(tap: int, axis: int, count: int, problem: ConvolutionProblem) -> slice:
    first = tap * problem.dilations[axis]
    stride = problem.strides[axis]
    return slice(first, first + (count - 1) * stride + 1, stride)
