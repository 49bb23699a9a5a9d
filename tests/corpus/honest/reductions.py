"""Right: sums, maxima and counts, in several ways."""

import numpy as np

import deep500 as d5


class Variance(d5.CustomPythonOp):
    """In two passes."""

    domain = (-1e4, 1e4)

    def forward(self, inputs):
        x = inputs[0]
        centred = x - x.mean(-1, keepdims=True)
        return (centred * centred).mean(-1)

    def backward(self, grads, fwd_inputs, fwd_outputs):
        x = fwd_inputs[0]
        centred = x - x.mean(-1, keepdims=True)
        return grads[0][..., None] * 2 * centred / x.shape[-1]


class KahanSum(d5.CustomPythonOp):
    """inf - inf is in the compensation: hence the domain."""

    domain = (-1e6, 1e6)

    def forward(self, inputs):
        x = inputs[0]
        total = np.zeros(x.shape[:-1], x.dtype)
        lost = np.zeros_like(total)
        for column in range(x.shape[-1]):
            term = x[..., column] - lost
            higher = total + term
            lost = (higher - total) - term
            total = higher
        return total

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return np.broadcast_to(grads[0][..., None], fwd_inputs[0].shape)


class PairwiseSum(d5.CustomPythonOp):
    """Of all elements, by halves; a scalar comes out."""

    domain = (-1e6, 1e6)

    def forward(self, inputs):
        return self.total(inputs[0].ravel())

    def total(self, x):
        if len(x) < 2:
            return x.sum()
        half = len(x) // 2
        return self.total(x[:half]) + self.total(x[half:])

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return np.full_like(fwd_inputs[0], grads[0])


class CumulativeSum(d5.CustomPythonOp):
    domain = (-1e3, 1e3)

    def forward(self, inputs):
        return np.cumsum(inputs[0], -1)

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return np.cumsum(grads[0][..., ::-1], -1)[..., ::-1]


class MaximumFirst(d5.CustomPythonOp):
    """Among equal maxima the first has the gradient."""

    def forward(self, inputs):
        return inputs[0].max(-1)

    def backward(self, grads, fwd_inputs, fwd_outputs):
        gradient = np.zeros_like(fwd_inputs[0])
        place = np.argmax(fwd_inputs[0], -1)[..., None]
        np.put_along_axis(gradient, place, grads[0][..., None], -1)
        return gradient


class MaximumShared(d5.CustomPythonOp):
    """Equal maxima share the gradient."""

    def forward(self, inputs):
        return inputs[0].max(-1)

    def backward(self, grads, fwd_inputs, fwd_outputs):
        largest = fwd_inputs[0] == fwd_outputs[0][..., None]
        count = np.maximum(largest.sum(-1, keepdims=True), 1)
        return (grads[0][..., None] * largest / count).astype(fwd_inputs[0].dtype)


class LogSumExp(d5.CustomPythonOp):
    def forward(self, inputs):
        x = inputs[0]
        largest = x.max(-1, keepdims=True)
        shift = np.where(np.isfinite(largest), largest, 0)
        with np.errstate(divide="ignore", over="ignore"):
            return (np.log(np.exp(x - shift).sum(-1, keepdims=True)) + shift)[..., 0]

    def backward(self, grads, fwd_inputs, fwd_outputs):
        with np.errstate(invalid="ignore"):
            return grads[0][..., None] * np.exp(
                fwd_inputs[0] - fwd_outputs[0][..., None]
            )


class RowNorm(d5.CustomPythonOp):
    domain = (-1e3, 1e3)

    def forward(self, inputs):
        return np.linalg.norm(inputs[0], axis=-1)

    def backward(self, grads, fwd_inputs, fwd_outputs):
        length = fwd_outputs[0][..., None]
        direction = np.divide(
            fwd_inputs[0], length, out=np.zeros_like(fwd_inputs[0]), where=length > 0
        )
        return grads[0][..., None] * direction


class ScalarSum(d5.CustomPythonOp):
    """A scalar of NumPy comes out."""

    def forward(self, inputs):
        return inputs[0].dtype.type(inputs[0].sum(dtype="float64"))

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return np.full(fwd_inputs[0].shape, grads[0], fwd_inputs[0].dtype)


def frobenius(x):
    """Scaled by a power of 2, which is exact."""
    largest = np.max(np.abs(x), initial=0)
    if not 0 < largest < np.inf:
        return np.asarray(largest)
    exponent = int(np.frexp(largest)[1])
    scaled = np.ldexp(x, -exponent)
    return np.asarray(np.ldexp(np.sqrt((scaled * scaled).sum()), exponent))


def count_positive(x):
    return (x > 0).sum(-1)


def argmax(x):
    return np.argmax(x, -1)


def median(x):
    """By sorting; NaN wins."""
    n = x.shape[-1]
    if n == 0:
        return np.full(x.shape[:-1], np.nan, x.dtype)
    ordered = np.sort(x, -1).astype("float64")
    middle = (ordered[..., (n - 1) // 2] + ordered[..., n // 2]) / 2
    return np.where(np.isnan(ordered[..., -1]), np.nan, middle).astype(x.dtype)


def dot(a, b):
    return np.asarray((a.astype("float64") * b).sum()).astype(a.dtype)


def histogram(x):
    """Integers of a fixed number come out, whatever the shape is."""
    x = x.ravel()
    bins = 3 - ((x < 1).astype(int) + (x < 0) + (x < -1))
    return np.array([np.count_nonzero(bins == i) for i in range(4)])


def min_and_max(x):
    """A list of two."""
    return [x.min(-1), x.max(-1)]


def mean(x):
    return np.asarray(x.mean(dtype="float64")).astype(x.dtype)


def row_sum(x):
    """An empty row gives 0."""
    return x.sum(-1, dtype="float64").astype(x.dtype)


def column_means(x):
    """Depends on the whole batch."""
    return x.mean(0, dtype="float64").astype(x.dtype)
