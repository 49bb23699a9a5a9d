"""What every built-in optimizer must give: textbook formulas in float64, over the history of all gradients.

A decaying mean is written as the weighted sum that it stands for, not as the recurrence that optimizers compute, and
the matrix that Muon iterates towards comes from a singular value decomposition. Nothing here is shared with
deep500/optimizers but the names of the settings.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray


@dataclass
class History:
    """All that a rule may look at: the newest gradient, parameter and learning rate are the last ones."""

    settings: Mapping[str, Any]
    params: list[Array]
    gradients: list[Array] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    notes: dict[str, list[Array]] = field(
        default_factory=dict
    )  # what a rule keeps from its steps

    @property
    def count(self) -> int:
        return len(self.gradients)

    @property
    def param(self) -> Array:
        return self.params[-1]

    @property
    def gradient(self) -> Array:
        return self.gradients[-1]

    @property
    def rate(self) -> float:
        return self.rates[-1]

    def kept(self, name: str) -> list[Array]:
        return self.notes.setdefault(name, [])


def weighted_sum(values: Sequence[Array], decay: float) -> Array:
    """The newest value, the one before times the decay, and so on."""
    last = len(values) - 1
    return np.sum(
        [decay ** (last - i) * value for i, value in enumerate(values)], axis=0
    )


def corrected_mean(values: Sequence[Array], decay: float) -> Array:
    """The mean of all values, where an older one has less weight."""
    weights = sum(decay**i for i in range(len(values)))
    return weighted_sum(values, decay) / weights


def squares(values: Sequence[Array]) -> list[Array]:
    return [value * value for value in values]


def sgd(h: History) -> Array:
    return h.param - h.rate * h.gradient


def momentum(h: History) -> Array:
    return h.param - h.rate * weighted_sum(h.gradients, h.settings["momentum"])


def nesterov(h: History) -> Array:
    m = h.settings["momentum"]
    return h.param - h.rate * (h.gradient + m * weighted_sum(h.gradients, m))


def ada_grad(h: History) -> Array:
    rate = h.rate / (1 + (h.count - 1) * h.settings["rate_decay"])
    total = h.settings["initial_sum"] + np.sum(squares(h.gradients), axis=0)
    return h.param - rate * h.gradient / (np.sqrt(total) + h.settings["epsilon"])


def rms_prop(h: History) -> Array:
    alpha = h.settings["alpha"]
    spread = (1 - alpha) * weighted_sum(squares(h.gradients), alpha)
    if h.settings["centered"]:
        mean = (1 - alpha) * weighted_sum(h.gradients, alpha)
        spread = spread - mean * mean
    h.kept("quotients").append(h.gradient / (np.sqrt(spread) + h.settings["epsilon"]))
    return h.param - h.rate * weighted_sum(h.kept("quotients"), h.settings["momentum"])


def adam_direction(h: History) -> Array:
    mean = corrected_mean(h.gradients, h.settings["beta1"])
    square = corrected_mean(squares(h.gradients), h.settings["beta2"])
    return mean / (np.sqrt(square) + h.settings["epsilon"])


def adam(h: History) -> Array:
    return h.param - h.rate * adam_direction(h)


def adam_w(h: History) -> Array:
    return (
        1 - h.rate * h.settings["weight_decay"]
    ) * h.param - h.rate * adam_direction(h)


def ams_grad(h: History) -> Array:
    decay = h.settings["beta2"]
    h.kept("squares").append((1 - decay) * weighted_sum(squares(h.gradients), decay))
    largest = np.max(h.kept("squares"), axis=0) / (1 - decay**h.count)
    mean = corrected_mean(h.gradients, h.settings["beta1"])
    return h.param - h.rate * mean / (np.sqrt(largest) + h.settings["epsilon"])


def lars(h: History) -> Array:
    decay = h.settings["weight_decay"]
    size, slope = np.linalg.norm(h.param), np.linalg.norm(h.gradient)
    trust = 1.0
    if size > 0 and slope > 0:
        trust = h.settings["trust_coefficient"] * size
        trust /= slope + decay * size + h.settings["epsilon"]
    h.kept("moves").append(h.rate * trust * (h.gradient + decay * h.param))
    return h.param - weighted_sum(h.kept("moves"), h.settings["momentum"])


def lamb(h: History) -> Array:
    direction = adam_direction(h) + h.settings["weight_decay"] * h.param
    size, length = np.linalg.norm(h.param), np.linalg.norm(direction)
    trust = size / length if size > 0 and length > 0 else 1.0
    return h.param - h.rate * trust * direction


def accele_grad(h: History) -> Array:
    """Algorithm 2 of the paper: x, y and z of step t = 0, 1, …; the parameter is the x of the step."""

    def weight(t: int) -> float:
        return 1.0 if t <= 2 else (t + 1) / 4

    t = h.count - 1
    total = h.settings["gradient_bound"] ** 2
    for i, gradient in enumerate(h.gradients):
        total += weight(i) ** 2 * np.sum(gradient**2)
    eta = h.rate * 2 * h.settings["diameter"] / np.sqrt(total)
    z = h.kept("z")[-1] if h.kept("z") else h.params[0]
    z = z - weight(t) * eta * h.gradient
    h.kept("z").append(z)
    y = h.param - eta * h.gradient
    tau = 1 / weight(t + 1)
    return tau * z + (1 - tau) * y


def lion(h: History) -> Array:
    older = h.gradients[:-1]
    slow, fast = h.settings["beta2"], h.settings["beta1"]
    mean = (1 - slow) * weighted_sum(older, slow) if older else np.zeros_like(h.param)
    direction = np.sign(fast * mean + (1 - fast) * h.gradient)
    return h.param - h.rate * (direction + h.settings["weight_decay"] * h.param)


def muon(h: History) -> Array:
    if h.param.ndim < 2:
        defaults = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}
        return adam(History(defaults, h.params, h.gradients, h.rates))
    m = h.settings["momentum"]
    direction = (1 - m) * weighted_sum(h.gradients, m)
    if h.settings["nesterov"]:
        direction = m * direction + (1 - m) * h.gradient
    matrix = direction.reshape(len(direction), -1)
    left, sizes, right = np.linalg.svd(matrix, full_matrices=False)
    sizes = sizes / max(np.linalg.norm(sizes), h.settings["epsilon"])
    a, b, c = h.settings["coefficients"]
    for _ in range(h.settings["iterations"]):
        sizes = a * sizes + b * sizes**3 + c * sizes**5
    move = ((left * sizes) @ right).reshape(h.param.shape)
    scale = np.sqrt(max(1.0, matrix.shape[0] / matrix.shape[1]))
    return (1 - h.rate * h.settings["weight_decay"]) * h.param - h.rate * scale * move


RULES: dict[str, Callable[[History], Array]] = {
    "SGD": sgd,
    "Momentum": momentum,
    "Nesterov": nesterov,
    "AdaGrad": ada_grad,
    "RMSProp": rms_prop,
    "Adam": adam,
    "AdamW": adam_w,
    "AMSGrad": ams_grad,
    "LARS": lars,
    "LAMB": lamb,
    "AcceleGrad": accele_grad,
    "Lion": lion,
    "Muon": muon,
}


class Oracle:
    """The parameters that a rule must give, step by step."""

    def __init__(
        self,
        rule: Callable[[History], Array],
        settings: Mapping[str, Any],
        start: Mapping[str, Array],
        rate: Callable[[int], float],
    ):
        self.rule = rule
        self.rate = rate
        self.histories = {
            name: History(settings, [np.asarray(value, np.float64)])
            for name, value in start.items()
        }

    @property
    def params(self) -> dict[str, Array]:
        return {name: history.param for name, history in self.histories.items()}

    def step(self, gradients: Mapping[str, Array]) -> dict[str, Array]:
        for name, history in self.histories.items():
            history.gradients.append(np.asarray(gradients[name], np.float64))
            history.rates.append(self.rate(history.count))
            history.params.append(self.rule(history))
        return self.params
