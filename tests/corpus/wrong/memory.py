"""The values returned are right: what else is done to memory is not."""

import numpy as np

import deep500 as d5


class Tanh(d5.CustomPythonOp):
    """Right; those below differ in one thing."""

    def forward(self, inputs):
        return np.tanh(inputs[0])

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0] * (1 - fwd_outputs[0] ** 2)


class OverwritesOutputs(Tanh):
    """The slope is computed in place of the output."""

    def backward(self, grads, fwd_inputs, fwd_outputs):
        y = fwd_outputs[0]
        np.multiply(y, y, out=y)
        np.subtract(1, y, out=y)
        return grads[0] * y


class OverwritesInputs(Tanh):
    def backward(self, grads, fwd_inputs, fwd_outputs):
        x = fwd_inputs[0]
        np.subtract(1, fwd_outputs[0] ** 2, out=x)
        return grads[0] * x


class OverwritesGradients(Tanh):
    """The incoming gradient is scaled in place; another branch of the network still needs it."""

    def backward(self, grads, fwd_inputs, fwd_outputs):
        gradient = grads[0]
        gradient *= 1 - fwd_outputs[0] ** 2
        return gradient.copy()


class OverwritesAndRestores(Tanh):
    """The input is changed and put back, less what rounding took."""

    def forward(self, inputs):
        x = inputs[0]
        y = np.tanh(x)
        x += 1
        x -= 1
        return y


class InPlaceRelu(d5.CustomPythonOp):
    def forward(self, inputs):
        return np.maximum(inputs[0], 0, out=inputs[0])

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0] * (fwd_outputs[0] > 0)


class KeepsLastForward(Tanh):
    """Backward belongs to whichever forward came last."""

    def forward(self, inputs):
        self._y = np.tanh(inputs[0])
        return self._y.copy()

    def backward(self, grads, fwd_inputs, fwd_outputs):
        y = self._y if self._y.shape == grads[0].shape else fwd_outputs[0]
        return grads[0] * (1 - y**2)


class KeepsMask(d5.CustomPythonOp):
    """A mask for every shape, from the last forward of that shape and dtype."""

    def __init__(self):
        super().__init__()
        self._masks = {}

    def forward(self, inputs):
        x = inputs[0]
        self._masks[x.shape, x.dtype] = x > 0
        return np.maximum(x, 0)

    def backward(self, grads, fwd_inputs, fwd_outputs):
        x = fwd_inputs[0]
        return grads[0] * self._masks.get((x.shape, x.dtype), x > 0)


class GradientBufferReused(Tanh):
    """One buffer per shape for the gradient: the next one overwrites it."""

    def __init__(self):
        super().__init__()
        self._buffers = {}

    def backward(self, grads, fwd_inputs, fwd_outputs):
        gradient = grads[0]
        buffer = self._buffers.setdefault(
            (gradient.shape, gradient.dtype), np.empty_like(gradient)
        )
        np.multiply(gradient, 1 - fwd_outputs[0] ** 2, out=buffer)
        return buffer


class OutputBufferReused(Tanh):
    def __init__(self):
        super().__init__()
        self._buffers = {}

    def forward(self, inputs):
        x = inputs[0]
        buffer = self._buffers.setdefault((x.shape, x.dtype), np.empty_like(x))
        return np.tanh(x, out=buffer)


class PoolOfThree(Tanh):
    """Three buffers in turn: the fourth call overwrites the result of the first."""

    def __init__(self):
        super().__init__()
        self._pool = {}
        self._turn = 0

    def forward(self, inputs):
        x = inputs[0]
        buffers = self._pool.setdefault(
            (x.shape, x.dtype), [np.empty_like(x) for _ in range(3)]
        )
        self._turn += 1
        return np.tanh(x, out=buffers[self._turn % 3])


class MemoryOrder(Tanh):
    """Elements in the order of memory, which is not that of the array for a transpose."""

    def forward(self, inputs):
        x = inputs[0]
        return np.tanh(x.ravel(order="K")).reshape(x.shape)


class DataPointer(Tanh):
    """Reads from the first element on, as if there were no strides."""

    def forward(self, inputs):
        x = inputs[0]
        if x.size == 0:
            return np.tanh(x)
        strides = np.empty(x.shape, x.dtype).strides
        return np.tanh(np.lib.stride_tricks.as_strided(x, x.shape, strides))


class GradientMemoryOrder(Tanh):
    """Backward alone takes the order of memory for that of the elements."""

    def backward(self, grads, fwd_inputs, fwd_outputs):
        x = fwd_inputs[0]
        slope = 1 - np.tanh(x.ravel(order="K")) ** 2
        return grads[0] * slope.reshape(x.shape)


class UnwrittenElement(Tanh):
    """The last element is never written: what was freed before shows through."""

    def forward(self, inputs):
        x = inputs[0]
        y = np.empty_like(x)
        y.flat[: max(x.size - 1, 1)] = np.tanh(x.ravel()[: max(x.size - 1, 1)])
        return y


class UnwrittenSum(d5.CustomPythonOp):
    """An accumulator that is not set to 0: fresh pages are, memory that was used is not."""

    def forward(self, inputs):
        x = inputs[0]
        total = np.empty(x.shape[:-1], x.dtype)
        for column in range(x.shape[-1]):
            total += x[..., column]
        return total

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return np.broadcast_to(grads[0][..., None], fwd_inputs[0].shape)


class UnwrittenGradient(Tanh):
    """Where the slope is small the gradient is left as it was found."""

    def backward(self, grads, fwd_inputs, fwd_outputs):
        slope = 1 - fwd_outputs[0] ** 2
        gradient = np.empty_like(grads[0])
        np.multiply(grads[0], slope, out=gradient, where=slope > 0.1)
        return gradient


class ChangesInputLater(Tanh):
    """The input of the last call is kept, and taken for scratch space in the next."""

    def __init__(self):
        super().__init__()
        self._scratch = None

    def forward(self, inputs):
        x = inputs[0]
        y = np.tanh(x)
        scratch, self._scratch = self._scratch, x
        if scratch is not None and scratch is not x and scratch.flags.writeable:
            scratch[...] = 0
        return y


class ChangesOutputLater(Tanh):
    """The output is kept, and scaled by the next call."""

    def __init__(self):
        super().__init__()
        self._y = None

    def forward(self, inputs):
        if self._y is not None:
            self._y *= 1.5
        self._y = np.tanh(inputs[0])
        return self._y
