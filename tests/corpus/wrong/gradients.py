"""Forward is right, the gradient is not."""

import numpy as np

import deep500 as d5


class Relu(d5.CustomPythonOp):
    """Right; those below differ in one thing."""

    def forward(self, inputs):
        return np.maximum(inputs[0], 0)

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0] * (fwd_inputs[0] > 0)


class Cube(d5.CustomPythonOp):
    """Right."""

    def forward(self, inputs):
        return inputs[0] ** 3

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return 3 * grads[0] * fwd_inputs[0] ** 2


class CancellingRelu(Relu):
    """+1000 in the first element and -1000 in the last cancel along directions of ±1."""

    def backward(self, grads, fwd_inputs, fwd_outputs):
        gradient = super().backward(grads, fwd_inputs, fwd_outputs)
        gradient.flat[:1] += 1000
        gradient.flat[-1:] -= 1000
        return gradient


class CancellingRows(Cube):
    """Every row is given what the next one should have."""

    def backward(self, grads, fwd_inputs, fwd_outputs):
        gradient = super().backward(grads, fwd_inputs, fwd_outputs)
        return np.roll(gradient, 1, 0) if gradient.ndim > 1 else gradient


class OneElement(Cube):
    """One element in the middle is one per cent too large."""

    def backward(self, grads, fwd_inputs, fwd_outputs):
        gradient = super().backward(grads, fwd_inputs, fwd_outputs)
        middle = gradient.size // 2
        gradient.flat[middle : middle + 1] *= 1.01
        return gradient


class LastRow(Cube):
    """The loop over rows ends one too early."""

    def backward(self, grads, fwd_inputs, fwd_outputs):
        gradient = super().backward(grads, fwd_inputs, fwd_outputs)
        if gradient.ndim > 1:
            gradient[-1] = 0
        return gradient


class FlatTanh(d5.CustomPythonOp):
    """The gradient is cut off where |x| > 2, as if tanh were flat there."""

    def forward(self, inputs):
        return np.tanh(inputs[0])

    def backward(self, grads, fwd_inputs, fwd_outputs):
        slope = 1 - fwd_outputs[0] ** 2
        return np.where(np.abs(fwd_inputs[0]) > 2, 0, grads[0] * slope)


class SincAtZero(d5.CustomPythonOp):
    """sin(x)/x: the value at 0 was thought of, the derivative there was not."""

    def forward(self, inputs):
        return np.sinc(inputs[0] / np.pi).astype(inputs[0].dtype)

    def backward(self, grads, fwd_inputs, fwd_outputs):
        x = fwd_inputs[0]
        with np.errstate(all="ignore"):
            slope = (np.cos(x) - fwd_outputs[0]) / x
        return grads[0] * slope


class BiasMean(d5.CustomPythonOp):
    """The gradient of a broadcast bias is a mean where it should be a sum."""

    num_inputs = 2

    def forward(self, inputs):
        return inputs[0] + inputs[1]

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0], grads[0].mean(0)


class BroadcastScale(d5.CustomPythonOp):
    """The gradient of a broadcast factor takes the last row for the sum over rows."""

    num_inputs = 2

    def forward(self, inputs):
        return inputs[0] * inputs[1]

    def backward(self, grads, fwd_inputs, fwd_outputs):
        x, scale = fwd_inputs
        return grads[0] * scale, (grads[0] * x)[-1]


class SwappedMultiply(d5.CustomPythonOp):
    """Each input is given the other's gradient."""

    num_inputs = 2

    def forward(self, inputs):
        return inputs[0] * inputs[1]

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0] * fwd_inputs[0], grads[0] * fwd_inputs[1]


class MissingSecond(d5.CustomPythonOp):
    """The second input's gradient is left out, although it is a float."""

    num_inputs = 2

    def forward(self, inputs):
        return inputs[0] * inputs[1]

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0] * fwd_inputs[1], None


class MatMulSquare(d5.CustomPythonOp):
    """A transpose is missing, which square matrices do not show by their shapes."""

    num_inputs = 2

    def forward(self, inputs):
        return inputs[0] @ inputs[1]

    def backward(self, grads, fwd_inputs, fwd_outputs):
        a, b = fwd_inputs
        return grads[0] @ b, a.T @ grads[0]


class SoftmaxDiagonal(d5.CustomPythonOp):
    """Only the diagonal of the Jacobian."""

    def forward(self, inputs):
        e = np.exp(inputs[0] - inputs[0].max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    def backward(self, grads, fwd_inputs, fwd_outputs):
        y = fwd_outputs[0]
        return grads[0] * y * (1 - y)


class GuidedRelu(Relu):
    """Negative gradients are dropped: not linear in them."""

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return np.maximum(super().backward(grads, fwd_inputs, fwd_outputs), 0)


class OffsetGradient(Cube):
    """A regulariser was left in: a little of the input is added, whatever the gradient is."""

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return super().backward(grads, fwd_inputs, fwd_outputs) + 1e-3 * fwd_inputs[0]


class SecondOutputForgotten(d5.CustomPythonOp):
    """The gradient of the second output is not used."""

    num_outputs = 2

    def forward(self, inputs):
        return np.sin(inputs[0]), np.cos(inputs[0])

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0] * fwd_outputs[1]


class MeanByRows(d5.CustomPythonOp):
    """The mean over all elements, whose gradient is divided by the number of rows."""

    def forward(self, inputs):
        return inputs[0].mean()

    def backward(self, grads, fwd_inputs, fwd_outputs):
        x = fwd_inputs[0]
        rows = len(x) if x.ndim else 1
        return np.full(x.shape, grads[0] / max(rows, 1), x.dtype)


class OffByAThousandth(Cube):
    def backward(self, grads, fwd_inputs, fwd_outputs):
        return 1.001 * super().backward(grads, fwd_inputs, fwd_outputs)


class WrongForSmallGradients(Cube):
    """Gradients below a hundredth are flushed to 0, as a loss scale of float16 would."""

    def backward(self, grads, fwd_inputs, fwd_outputs):
        incoming = np.where(np.abs(grads[0]) < 1e-2, 0, grads[0])
        return 3 * incoming * fwd_inputs[0] ** 2


class ClippedGradient(Cube):
    """Gradients are clipped to ±5 on the way."""

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return np.clip(super().backward(grads, fwd_inputs, fwd_outputs), -5, 5)


class SummedForRankThree(d5.CustomPythonOp):
    """x + bias: for a bias below three axes or more, the gradient is summed over the first alone and repeated."""

    num_inputs = 2

    def forward(self, inputs):
        return inputs[0] + inputs[1]

    def backward(self, grads, fwd_inputs, fwd_outputs):
        gradient = grads[0]
        while gradient.ndim > fwd_inputs[1].ndim:
            gradient = gradient.sum(0) if gradient.ndim == 2 else gradient[0]
        return grads[0], gradient


class FailingGradient(d5.CustomPythonOp):
    """There is a backward, and it always fails."""

    def forward(self, inputs):
        return np.tanh(inputs[0])

    def backward(self, grads, fwd_inputs, fwd_outputs):
        raise RuntimeError("no gradient today")


class SingleGradient(Cube):
    """Wrong in float32 alone, where differences are too coarse to tell."""

    def backward(self, grads, fwd_inputs, fwd_outputs):
        gradient = super().backward(grads, fwd_inputs, fwd_outputs)
        return gradient * np.float32(1.01) if gradient.dtype == np.float32 else gradient


class MeanOfGradients(Cube):
    """Takes the incoming gradients for equal, as a sum behind it would make them."""

    def backward(self, grads, fwd_inputs, fwd_outputs):
        incoming = grads[0].mean() if grads[0].size else 0
        return 3 * incoming * fwd_inputs[0] ** 2


class ExpandedGradients(Cube):
    """Reads gradients in the order of memory: those that a framework transposes or expands are others."""

    def backward(self, grads, fwd_inputs, fwd_outputs):
        if grads[0].flags.c_contiguous or grads[0].size == 0:
            return super().backward(grads, fwd_inputs, fwd_outputs)
        first = np.lib.stride_tricks.as_strided(grads[0], (1,), (grads[0].itemsize,))
        return 3 * first[0] * fwd_inputs[0] ** 2


class OddTail(Cube):
    """Two columns at a time: that of an odd last column is left at 0."""

    def backward(self, grads, fwd_inputs, fwd_outputs):
        gradient = super().backward(grads, fwd_inputs, fwd_outputs)
        if gradient.ndim and gradient.shape[-1] % 2:
            gradient[..., -1] = 0
        return gradient


class LargeInputs(Cube):
    """Squares beyond 10000 are cut off in backward."""

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return 3 * grads[0] * np.minimum(fwd_inputs[0] ** 2, 1e4)


class TiedMaximum(d5.CustomPythonOp):
    """All of several equal maxima get the whole gradient."""

    def forward(self, inputs):
        return inputs[0].max(-1)

    def backward(self, grads, fwd_inputs, fwd_outputs):
        largest = fwd_inputs[0] == fwd_outputs[0][..., None]
        return grads[0][..., None] * largest


class BroadcastColumn(d5.CustomPythonOp):
    """The gradient of an input with an axis of one is not summed but taken from the first place."""

    num_inputs = 2

    def forward(self, inputs):
        return inputs[0] * inputs[1]

    def backward(self, grads, fwd_inputs, fwd_outputs):
        x, column = fwd_inputs
        whole = grads[0] * x
        return grads[0] * column, whole[:, :1] if column.shape[1] == 1 else whole
