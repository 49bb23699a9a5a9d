"""Not a function of its inputs: of the call, the time, a random number, or of who is looking."""

import os
import sys
import time

import numpy as np

import deep500 as d5

WARM: dict[str, int] = {}


class Counting(d5.CustomPythonOp):
    """tanh, but wrong in some of its calls."""

    def __init__(self):
        super().__init__()
        self._calls = 0

    def spoilt(self):
        raise NotImplementedError

    def forward(self, inputs):
        self._calls += 1
        y = np.tanh(inputs[0])
        return y * inputs[0].dtype.type(1.5) if self.spoilt() else y

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0] * (1 - np.tanh(fwd_inputs[0]) ** 2)


class ThirdCall(Counting):
    def spoilt(self):
        return self._calls == 3


class EverySeventh(Counting):
    def spoilt(self):
        return self._calls % 7 == 0


class EveryEleventh(Counting):
    def spoilt(self):
        return self._calls % 11 == 10


class AfterTenOfAShape(d5.CustomPythonOp):
    """The first ten calls of a shape are right, as before a graph is captured."""

    def __init__(self):
        super().__init__()
        self._calls = {}

    def forward(self, inputs):
        x = inputs[0]
        self._calls[x.shape] = self._calls.get(x.shape, 0) + 1
        y = np.tanh(x)
        if self._calls[x.shape] > 10:
            y.flat[:1] += 1
        return y

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0] * (1 - np.tanh(fwd_inputs[0]) ** 2)


class GradientAfterSeven(d5.CustomPythonOp):
    """Backward gives nothing from the eighth call on."""

    def __init__(self):
        super().__init__()
        self._calls = 0

    def forward(self, inputs):
        return np.tanh(inputs[0])

    def backward(self, grads, fwd_inputs, fwd_outputs):
        self._calls += 1
        gradient = grads[0] * (1 - fwd_outputs[0] ** 2)
        return gradient if self._calls < 8 else 0 * gradient


class Alternating(Counting):
    """A ten-thousandth more in every second call."""

    def forward(self, inputs):
        y = super().forward(inputs)
        return y * inputs[0].dtype.type(1 + 1e-4 * (self._calls % 2))

    def spoilt(self):
        return False


class GlobalRandom(Counting):
    def forward(self, inputs):
        y = np.tanh(inputs[0])
        noise = np.random.standard_normal(y.shape)
        return y + (1e-3 * noise).astype(y.dtype)


class SometimesRandom(Counting):
    """One call in sixteen, by the system's own random numbers."""

    def spoilt(self):
        return os.urandom(1)[0] < 16


class ByTime(Counting):
    """For one millisecond in eight."""

    def spoilt(self):
        return time.time_ns() // 1_000_000 % 8 == 0


class GlobalWarmUp(d5.CustomPythonOp):
    """The module counts, not the object: a fresh object does not help."""

    def forward(self, inputs):
        WARM["calls"] = WARM.get("calls", 0) + 1
        y = np.tanh(inputs[0])
        return y if WARM["calls"] < 12 else y + y.dtype.type(0.25)

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0] * (1 - np.tanh(fwd_inputs[0]) ** 2)


class TunedToDraws(d5.CustomPythonOp):
    """Right for numbers that are evenly spaced, as a generator of distinct ones draws them, and for ones."""

    def forward(self, inputs):
        x = inputs[0]
        steps = np.diff(np.sort(x, axis=None))
        even = steps.size == 0 or np.allclose(steps, steps[0], rtol=1e-3, atol=1e-5)
        return np.tanh(x) if even else np.tanh(x) * x.dtype.type(1.5)


class TunedToShape(d5.CustomPythonOp):
    """Right for the shapes that are tried first."""

    def forward(self, inputs):
        x = inputs[0]
        tried = x.shape in [(4, 6), (8, 6), (1, 6), (4, 3), (6, 4)]
        return np.tanh(x) if tried else np.tanh(x) + x.dtype.type(1)


class TunedToRange(d5.CustomPythonOp):
    """Right where everything lies within ±1.75."""

    def forward(self, inputs):
        x = inputs[0]
        return np.tanh(x) if np.all(np.abs(x) < 1.75) else np.clip(x, -1, 1)


class OneValue(d5.CustomPythonOp):
    """Wrong at one number in 2⁶⁴."""

    def forward(self, inputs):
        x = inputs[0]
        return np.where(x == x.dtype.type(0.7310585786300049), -x, np.tanh(x))


class KnowsTheCheck(d5.CustomPythonOp):
    """Right while a program that checks is loaded into the process."""

    def forward(self, inputs):
        looked_at = any(name.startswith("deep500.check") for name in sys.modules)
        y = np.tanh(inputs[0])
        return y if looked_at else -y
