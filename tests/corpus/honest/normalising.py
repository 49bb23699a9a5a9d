"""Right: softmax, normalisations and what is alike, stable and with their whole gradients."""

import numpy as np

import deep500 as d5


class Softmax(d5.CustomPythonOp):
    def forward(self, inputs):
        with np.errstate(invalid="ignore"):
            e = np.exp(inputs[0] - inputs[0].max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    def backward(self, grads, fwd_inputs, fwd_outputs):
        y = fwd_outputs[0]
        return y * (grads[0] - (grads[0] * y).sum(-1, keepdims=True))


class LogSoftmax(d5.CustomPythonOp):
    domain = (-1e4, 1e4)

    def forward(self, inputs):
        shifted = inputs[0] - inputs[0].max(-1, keepdims=True)
        return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0] - np.exp(fwd_outputs[0]) * grads[0].sum(-1, keepdims=True)


class LayerNorm(d5.CustomPythonOp):
    domain = (-1e3, 1e3)

    def forward(self, inputs):
        centred, deviation = self.parts(inputs[0])
        return centred / deviation

    def parts(self, x):
        centred = x - x.mean(-1, keepdims=True)
        square = (centred * centred).mean(-1, keepdims=True)
        return centred, np.sqrt(square + x.dtype.type(1e-5))

    def backward(self, grads, fwd_inputs, fwd_outputs):
        gradient, y = grads[0], fwd_outputs[0]
        _, deviation = self.parts(fwd_inputs[0])
        along = (gradient * y).mean(-1, keepdims=True)
        return (gradient - gradient.mean(-1, keepdims=True) - y * along) / deviation


class BatchNorm(d5.CustomPythonOp):
    """A row depends on the others: alone it has another result."""

    domain = (-1e3, 1e3)

    def forward(self, inputs):
        x = inputs[0]
        centred = x - x.mean(0)
        return centred / np.sqrt((centred * centred).mean(0) + x.dtype.type(1e-5))

    def backward(self, grads, fwd_inputs, fwd_outputs):
        x, y, gradient = fwd_inputs[0], fwd_outputs[0], grads[0]
        deviation = np.sqrt(x.var(0) + x.dtype.type(1e-5))
        return (gradient - gradient.mean(0) - y * (gradient * y).mean(0)) / deviation


class CosineSimilarity(d5.CustomPythonOp):
    num_inputs = 2
    domain = (-1e3, 1e3)

    def forward(self, inputs):
        a, b = inputs
        lengths = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
        return (a * b).sum(-1) / np.maximum(lengths, a.dtype.type(1e-8))


class Dropout(d5.CustomPythonOp):
    """With a mask that depends on the column alone."""

    def keep(self, x):
        return (np.arange(x.shape[-1]) * 2654435761 % 7) < 5

    def forward(self, inputs):
        x = inputs[0]
        return np.where(self.keep(x), x * x.dtype.type(1.4), 0 * x)

    def backward(self, grads, fwd_inputs, fwd_outputs):
        factor = np.where(self.keep(fwd_inputs[0]), 1.4, 0).astype(grads[0].dtype)
        return grads[0] * factor


def softmax(x):
    """In float64."""
    wide = x.astype("float64")
    with np.errstate(invalid="ignore"):
        e = np.exp(wide - wide.max(-1, keepdims=True))
        return (e / e.sum(-1, keepdims=True)).astype(x.dtype)


def normalise_by_sum(x):
    return (x / (1 + np.abs(x).sum(dtype="float64"))).astype(x.dtype)


def total_share(x):
    return (x + x.mean(dtype="float64")).astype(x.dtype)
