"""Right: views, other shapes, other orders of memory, other numbers of outputs."""

import numpy as np

import deep500 as d5


class Transpose(d5.CustomPythonOp):
    """A view, which is not contiguous."""

    def forward(self, inputs):
        return inputs[0].T

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0].T


class Flip(d5.CustomPythonOp):
    """A view with negative strides."""

    def forward(self, inputs):
        return inputs[0][..., ::-1]

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0][..., ::-1]


class Identity(d5.CustomPythonOp):
    """The input itself."""

    def forward(self, inputs):
        return inputs[0]

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0]


class Strided(d5.CustomPythonOp):
    def forward(self, inputs):
        return inputs[0][..., ::2]

    def backward(self, grads, fwd_inputs, fwd_outputs):
        gradient = np.zeros_like(fwd_inputs[0])
        gradient[..., ::2] = grads[0]
        return gradient


class Roll(d5.CustomPythonOp):
    def forward(self, inputs):
        return np.roll(inputs[0], 1, -1)

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return np.roll(grads[0], -1, -1)


class Pad(d5.CustomPythonOp):
    def forward(self, inputs):
        return np.pad(inputs[0], [(1, 2)] * inputs[0].ndim)

    def backward(self, grads, fwd_inputs, fwd_outputs):
        inside = tuple(slice(1, 1 + n) for n in fwd_inputs[0].shape)
        return grads[0][inside]


class Split(d5.CustomPythonOp):
    """Two outputs of different shapes where the length is odd."""

    num_outputs = 2

    def forward(self, inputs):
        half = inputs[0].shape[-1] // 2
        return inputs[0][..., :half], inputs[0][..., half:]

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return np.concatenate(grads, -1)


class EvenRows(d5.CustomPythonOp):
    """Takes an even number of rows, and says so."""

    def forward(self, inputs):
        if inputs[0].ndim < 1 or len(inputs[0]) % 2:
            raise ValueError("rows come in pairs")
        return inputs[0][0::2] + inputs[0][1::2]

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return np.repeat(grads[0], 2, 0)


class FixedShape(d5.CustomPythonOp):
    """Takes 3x5 alone."""

    def __init__(self):
        super().__init__([d5.tensordesc([3, 5])], [d5.tensordesc([3, 5])])

    def forward(self, inputs):
        return 2 * inputs[0]

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return 2 * grads[0]


class MatricesOnly(d5.CustomPythonOp):
    """Square ones."""

    def __init__(self):
        super().__init__([d5.tensordesc(["n", "n"])], [d5.tensordesc(["n", "n"])])

    def forward(self, inputs):
        return inputs[0] - inputs[0].T

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0] - grads[0].T


class FiveAxes(d5.CustomPythonOp):
    domain = (-1e6, 1e6)

    def forward(self, inputs):
        if inputs[0].ndim != 5:
            raise ValueError("takes five axes")
        return inputs[0].sum((1, 3))

    def backward(self, grads, fwd_inputs, fwd_outputs):
        spread = grads[0][:, None, :, None, :]
        return np.broadcast_to(spread, fwd_inputs[0].shape)


class FortranOrder(d5.CustomPythonOp):
    def forward(self, inputs):
        return np.asfortranarray(2 * inputs[0])

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return np.asfortranarray(2 * grads[0])


class ReadOnly(d5.CustomPythonOp):
    def forward(self, inputs):
        y = 2 * inputs[0]
        y.flags.writeable = False
        return y

    def backward(self, grads, fwd_inputs, fwd_outputs):
        gradient = 2 * grads[0]
        gradient.flags.writeable = False
        return gradient


class Concatenate(d5.CustomPythonOp):
    num_inputs = 2

    def forward(self, inputs):
        return np.concatenate(inputs, -1)

    def backward(self, grads, fwd_inputs, fwd_outputs):
        width = fwd_inputs[0].shape[-1]
        return grads[0][..., :width], grads[0][..., width:]


class Outer(d5.CustomPythonOp):
    num_inputs = 2
    domain = (-1e6, 1e6)

    def forward(self, inputs):
        return np.multiply.outer(inputs[0], inputs[1])

    def backward(self, grads, fwd_inputs, fwd_outputs):
        a, b = fwd_inputs
        return np.tensordot(grads[0], b, b.ndim), np.tensordot(a, grads[0], a.ndim)


class BroadcastView(d5.CustomPythonOp):
    """The gradient is a read-only view of one element."""

    domain = (-1e6, 1e6)

    def forward(self, inputs):
        return inputs[0].sum()

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return np.broadcast_to(grads[0], fwd_inputs[0].shape)


def shape_of(x):
    """Integers, and no value of the input matters."""
    return np.array(x.shape, "int64")


def diagonal(x):
    """A read-only view."""
    return np.diagonal(x)


def first_two(x):
    """A view of some rows."""
    return x[:2]


def positive_only(x):
    """How many come out depends on the values."""
    return x[x > 0]


def transpose(x):
    return np.transpose(x)


def identity(x):
    return x


class MultipleOfFour(d5.CustomPythonOp):
    """Columns come in fours, rows are two at least."""

    def forward(self, inputs):
        x = inputs[0]
        if x.ndim != 2 or len(x) < 2 or x.shape[1] % 4:
            raise ValueError("takes two rows or more, and columns in fours")
        return 2 * x

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return 2 * grads[0]


class Difference(d5.CustomPythonOp):
    """One element less comes out, none from one."""

    def forward(self, inputs):
        x = inputs[0]
        return x[..., 1:] - x[..., :-1]

    def backward(self, grads, fwd_inputs, fwd_outputs):
        gradient = np.zeros_like(fwd_inputs[0])
        gradient[..., 1:] += grads[0]
        gradient[..., :-1] -= grads[0]
        return gradient


def mean_of_integers(x):
    """Integers in, float64 out."""
    return x.sum(-1) / x.shape[-1]
