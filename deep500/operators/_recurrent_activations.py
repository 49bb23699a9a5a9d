"""The activations of recurrent operators by ONNX's names, each with its derivative."""

from dataclasses import dataclass
from typing import Any

from ..contracts.operator import Operator
from ..errors import Unsupported
from .elu import Elu
from .hard_sigmoid import HardSigmoid
from .leaky_relu import LeakyRelu
from .relu import Relu
from .sigmoid import Sigmoid
from .softplus import Softplus
from .softsign import Softsign
from .tanh import Tanh


class Affine(Operator):
    alpha: float = 1.0
    beta: float = 0.0

    def forward(self, xp, x):
        return self.alpha * x + self.beta

    def backward(self, xp, dy):
        return self.alpha * dy


class ScaledTanh(Operator):
    alpha: float = 1.0
    beta: float = 1.0

    def forward(self, xp, x):
        return self.alpha * xp.tanh(self.beta * x)

    def backward(self, xp, dy, x):
        return dy * self.alpha * self.beta * (1 - xp.square(xp.tanh(self.beta * x)))


class RecurrentThresholdedRelu(Operator):
    alpha: float = 1.0

    def forward(self, xp, x):
        return xp.where(x > self.alpha, x, xp.zeros_like(x))

    def backward(self, xp, dy, x):
        return xp.where(x > self.alpha, dy, xp.zeros_like(dy))


KNOWN: dict[str, type[Operator]] = {
    cls.__name__.lower(): cls
    for cls in (
        Affine,
        Elu,
        HardSigmoid,
        LeakyRelu,
        Relu,
        ScaledTanh,
        Sigmoid,
        Softplus,
        Softsign,
        Tanh,
        RecurrentThresholdedRelu,
    )
}


@dataclass(frozen=True)
class Activation:
    """A function of what is first kept between -clip and clip, and its derivative."""

    function: Operator
    clip: float | None = None

    def __call__(self, xp, x):
        return self.function.run(xp, self._clipped(xp, x))[0]

    def gradient(self, xp, dy, x, y):
        dx = self.function.gradients(xp, [dy], [self._clipped(xp, x)], [y])[0]
        return dx if self.clip is None else xp.where(xp.abs(x) < self.clip, dx, xp.zeros_like(dx))

    def _clipped(self, xp, x):
        return x if self.clip is None else xp.clip(x, -self.clip, self.clip)


def activations(names, alphas, betas, clip):
    """One for every name; those with settings take theirs from the lists, in order."""
    left: dict[str, Any] = {"alpha": iter(alphas or ()), "beta": iter(betas or ())}
    found = []
    for name in names:
        if name.lower() not in KNOWN:
            raise Unsupported(
                f"no activation is named {name!r}; there are: {', '.join(sorted(KNOWN))}"
            )
        function = KNOWN[name.lower()]()
        given = {
            key: next(left[key], value) for key, value in function.settings.items() if key in left
        }
        found.append(Activation(type(function)(**given), clip))
    return found
