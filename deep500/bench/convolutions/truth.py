"""Some elements of a convolution or of one of its gradients, summed term by term in float64."""

import numpy as np

from ...contracts.convolution import ConvolutionProblem

SAMPLES = 200


def sampled_truth(
    problem: ConvolutionProblem, direction: str, a: np.ndarray, b: np.ndarray, seed: int
) -> tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray]:
    """Where random elements of the result are, their exact values, and the sums of their terms' magnitudes."""
    shape = problem.shapes(direction)[2]
    random = np.random.default_rng(seed)
    places = tuple(random.integers(0, size, SAMPLES) for size in shape)
    element = {"forward": _output, "data": _data, "filter": _filter}[direction]
    values = np.empty(SAMPLES)
    sizes = np.empty(SAMPLES)
    for i, place in enumerate(zip(*places, strict=True)):
        terms = element(problem, a, b, *place)
        values[i] = terms.sum()
        sizes[i] = np.abs(terms).sum()
    return places, values, sizes


def _positions(problem: ConvolutionProblem, axis: int, output: int) -> np.ndarray:
    """The rows or columns of the input under each element of the kernel, for one element of the output."""
    taps = np.arange(problem.kernel[axis]) * problem.dilations[axis]
    return output * problem.strides[axis] - problem.pads[axis] + taps


def _output(
    problem: ConvolutionProblem,
    x: np.ndarray,
    w: np.ndarray,
    n: int,
    k: int,
    row: int,
    column: int,
) -> np.ndarray:
    rows = _positions(problem, 0, row)
    columns = _positions(problem, 1, column)
    in_rows = (rows >= 0) & (rows < problem.height)
    in_columns = (columns >= 0) & (columns < problem.width)
    first = _first_channel(problem, k)
    channels = np.arange(first, first + problem.channels // problem.groups)
    window = x[n][np.ix_(channels, rows[in_rows], columns[in_columns])]
    weights = w[k][:, in_rows][:, :, in_columns]
    return window.astype(np.float64) * weights


def _data(
    problem: ConvolutionProblem,
    dy: np.ndarray,
    w: np.ndarray,
    n: int,
    channel: int,
    row: int,
    column: int,
) -> np.ndarray:
    out_rows, taps_down = _reaching(problem, 0, row, dy.shape[2])
    out_columns, taps_right = _reaching(problem, 1, column, dy.shape[3])
    per_group = problem.channels // problem.groups
    group = channel // per_group
    filters = np.arange(problem.filters // problem.groups) + group * (
        problem.filters // problem.groups
    )
    gradients = dy[n][np.ix_(filters, out_rows, out_columns)]
    weights = w[filters, channel % per_group][:, taps_down][:, :, taps_right]
    return gradients.astype(np.float64) * weights


def _reaching(
    problem: ConvolutionProblem, axis: int, place: int, outputs: int
) -> tuple[np.ndarray, np.ndarray]:
    """The outputs whose windows cover a row or column of the input, and the elements of the kernel that lie on it."""
    taps = np.arange(problem.kernel[axis])
    shifted = place + problem.pads[axis] - taps * problem.dilations[axis]
    output = shifted // problem.strides[axis]
    covers = (shifted % problem.strides[axis] == 0) & (output >= 0) & (output < outputs)
    return output[covers], taps[covers]


def _filter(
    problem: ConvolutionProblem,
    x: np.ndarray,
    dy: np.ndarray,
    k: int,
    channel: int,
    tap_down: int,
    tap_right: int,
) -> np.ndarray:
    rows = np.arange(dy.shape[2]) * problem.strides[0]
    rows += tap_down * problem.dilations[0] - problem.pads[0]
    columns = np.arange(dy.shape[3]) * problem.strides[1]
    columns += tap_right * problem.dilations[1] - problem.pads[1]
    in_rows = (rows >= 0) & (rows < problem.height)
    in_columns = (columns >= 0) & (columns < problem.width)
    images = np.arange(problem.batch)
    image_channel = _first_channel(problem, k) + channel
    window = x[:, image_channel][np.ix_(images, rows[in_rows], columns[in_columns])]
    gradients = dy[:, k][:, in_rows][:, :, in_columns]
    return window.astype(np.float64) * gradients


def _first_channel(problem: ConvolutionProblem, k: int) -> int:
    """The first channel of the group that a filter belongs to."""
    group = k // (problem.filters // problem.groups)
    return group * (problem.channels // problem.groups)
