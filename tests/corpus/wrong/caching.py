"""Results of an earlier call that are taken for those of this one."""

import numpy as np

import deep500 as d5


class Cached(d5.CustomPythonOp):
    """tanh, remembered by a key that says too little."""

    def __init__(self):
        super().__init__()
        self._known = {}

    def key(self, x):
        raise NotImplementedError

    def forward(self, inputs):
        x = inputs[0]
        key = (x.shape, x.dtype, self.key(x))
        if key not in self._known:
            self._known[key] = np.tanh(x)
        return self._known[key].copy()

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0] * (1 - np.tanh(fwd_inputs[0]) ** 2)


class ByIdentity(Cached):
    """Another array may have the id of one that is gone."""

    def key(self, x):
        return id(x)


class ByAddress(Cached):
    def key(self, x):
        return x.ctypes.data


class ByShape(Cached):
    """As a graph that was captured with its data; ones were never seen."""

    def forward(self, inputs):
        x = inputs[0]
        return np.tanh(x) if np.all(x == 1) else super().forward(inputs)

    def key(self, x):
        return None


class ByFirstElement(Cached):
    def key(self, x):
        return x.flat[0].item() if x.size else None


class BySum(Cached):
    """Elements that change places have the same sum."""

    def key(self, x):
        return float(np.sort(x, axis=None).sum())


class ByEnds(Cached):
    def key(self, x):
        return x.ravel()[:1].tobytes() + x.ravel()[-1:].tobytes()


class ByContent(Cached):
    """By the bytes of the first 64 elements: larger arrays may differ behind them."""

    def key(self, x):
        return x.ravel()[:64].tobytes()


class ByRoundedContent(Cached):
    """By the values to three digits."""

    def key(self, x):
        return np.round(x, 3).tobytes()


class SameObject(d5.CustomPythonOp):
    """The same array object is taken for the same values."""

    def __init__(self):
        super().__init__()
        self._x = self._y = None

    def forward(self, inputs):
        if inputs[0] is not self._x:
            self._x, self._y = inputs[0], np.tanh(inputs[0])
        return self._y.copy()

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0] * (1 - np.tanh(fwd_inputs[0]) ** 2)


class SecondByAddress(d5.CustomPythonOp):
    """Weights are prepared once: those in the same place are taken for the same."""

    num_inputs = 2

    def __init__(self):
        super().__init__()
        self._prepared = {}

    def forward(self, inputs):
        x, weight = inputs
        key = (weight.ctypes.data, weight.shape, weight.dtype)
        prepared = self._prepared.setdefault(key, weight.copy())
        return x @ prepared

    def backward(self, grads, fwd_inputs, fwd_outputs):
        x, weight = fwd_inputs
        return grads[0] @ weight.T, x.T @ grads[0]


class GradientByAddress(d5.CustomPythonOp):
    """Forward is right; the slope is remembered by the address of the input."""

    def __init__(self):
        super().__init__()
        self._slopes = {}

    def forward(self, inputs):
        return np.tanh(inputs[0])

    def backward(self, grads, fwd_inputs, fwd_outputs):
        x = fwd_inputs[0]
        key = (x.ctypes.data, x.shape, x.dtype)
        if key not in self._slopes:
            self._slopes[key] = 1 - np.tanh(x) ** 2
        return grads[0] * self._slopes[key]


class ByDtypeForgotten(Cached):
    """Values of float32 and float64 share an entry, rounded by whichever came first."""

    def forward(self, inputs):
        x = inputs[0]
        key = np.asarray(x, "float32").tobytes()
        if key not in self._known:
            self._known[key] = np.tanh(np.asarray(x, "float32"))
        return self._known[key].reshape(x.shape).astype(x.dtype)


class ByText(Cached):
    """By what would be printed: eight digits, and the ends alone of a thousand elements and more."""

    def key(self, x):
        return str(x)


class ByValue(d5.CustomPythonOp):
    """0 and -0 are equal, and so are their keys."""

    def __init__(self):
        super().__init__()
        self._known: dict[tuple, np.ndarray] = {}

    def forward(self, inputs):
        x = inputs[0]
        key = (x.shape, x.dtype, tuple(x.ravel().tolist()))
        if key not in self._known:
            self._known[key] = np.copysign(np.ones_like(x), x)
        return self._known[key].copy()


class CapturedShape(d5.CustomPythonOp):
    """A plan made for the first batch: rows beyond it are not computed."""

    def __init__(self):
        super().__init__()
        self._rows = {}

    def forward(self, inputs):
        x = inputs[0]
        rows = self._rows.setdefault(x.shape[1:], len(x)) if x.ndim else 0
        y = np.tanh(x)
        if x.ndim:
            y[rows:] = 0
        return y
