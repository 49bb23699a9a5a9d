"""The expected steps of every built-in optimizer: textbook formulas in float64, over the history of all gradients.

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
class OracleInput:
    """The input of a rule: its settings, and all parameters, gradients and learning rates, the newest last."""

    settings: Mapping[str, Any]
    params: list[Array]
    gradients: list[Array] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    notes: dict[str, list[Array]] = field(default_factory=dict)

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

    def recorded(self, name: str) -> list[Array]:
        """The values that the rule has recorded under this name, one per step; append to it to record another."""
        return self.notes.setdefault(name, [])


def weighted_sum(values: Sequence[Array], decay: float) -> Array:
    """The newest value, plus the one before it times the decay, and so on."""
    last = len(values) - 1
    terms = [decay ** (last - i) * value for i, value in enumerate(values)]
    return np.sum(terms, axis=0)


def corrected_mean(values: Sequence[Array], decay: float) -> Array:
    """The mean of all values, where an older one has less weight."""
    weights = sum(decay**i for i in range(len(values)))
    return weighted_sum(values, decay) / weights


def squares(values: Sequence[Array]) -> list[Array]:
    return [value * value for value in values]


def sgd(h: OracleInput) -> Array:
    return h.param - h.rate * h.gradient


def momentum(h: OracleInput) -> Array:
    decay = h.settings["momentum"]
    return h.param - h.rate * weighted_sum(h.gradients, decay)


def nesterov(h: OracleInput) -> Array:
    decay = h.settings["momentum"]
    direction = h.gradient + decay * weighted_sum(h.gradients, decay)
    return h.param - h.rate * direction


def ada_grad(h: OracleInput) -> Array:
    epsilon = h.settings["epsilon"]
    rate_decay = h.settings["rate_decay"]
    rate = h.rate / (1 + (h.count - 1) * rate_decay)
    total = h.settings["initial_sum"] + np.sum(squares(h.gradients), axis=0)
    return h.param - rate * h.gradient / (np.sqrt(total) + epsilon)


def rms_prop(h: OracleInput) -> Array:
    alpha = h.settings["alpha"]
    epsilon = h.settings["epsilon"]
    spread = (1 - alpha) * weighted_sum(squares(h.gradients), alpha)
    if h.settings["centered"]:
        mean = (1 - alpha) * weighted_sum(h.gradients, alpha)
        spread = spread - mean * mean
    quotients = h.recorded("quotients")
    quotients.append(h.gradient / (np.sqrt(spread) + epsilon))
    return h.param - h.rate * weighted_sum(quotients, h.settings["momentum"])


def adam_direction(h: OracleInput) -> Array:
    epsilon = h.settings["epsilon"]
    mean = corrected_mean(h.gradients, h.settings["beta1"])
    square = corrected_mean(squares(h.gradients), h.settings["beta2"])
    return mean / (np.sqrt(square) + epsilon)


def adam(h: OracleInput) -> Array:
    return h.param - h.rate * adam_direction(h)


def adam_w(h: OracleInput) -> Array:
    decayed = (1 - h.rate * h.settings["weight_decay"]) * h.param
    return decayed - h.rate * adam_direction(h)


def ams_grad(h: OracleInput) -> Array:
    decay = h.settings["beta2"]
    epsilon = h.settings["epsilon"]
    means = h.recorded("squares")
    means.append((1 - decay) * weighted_sum(squares(h.gradients), decay))
    largest = np.max(means, axis=0) / (1 - decay**h.count)
    mean = corrected_mean(h.gradients, h.settings["beta1"])
    return h.param - h.rate * mean / (np.sqrt(largest) + epsilon)


def lars(h: OracleInput) -> Array:
    decay = h.settings["weight_decay"]
    epsilon = h.settings["epsilon"]
    param_norm = np.linalg.norm(h.param)
    gradient_norm = np.linalg.norm(h.gradient)
    trust = 1.0
    if param_norm > 0 and gradient_norm > 0:
        trust = h.settings["trust_coefficient"] * param_norm
        trust /= gradient_norm + decay * param_norm + epsilon
    moves = h.recorded("moves")
    moves.append(h.rate * trust * (h.gradient + decay * h.param))
    return h.param - weighted_sum(moves, h.settings["momentum"])


def lamb(h: OracleInput) -> Array:
    direction = adam_direction(h) + h.settings["weight_decay"] * h.param
    param_norm = np.linalg.norm(h.param)
    direction_norm = np.linalg.norm(direction)
    trust: Any = 1.0
    if param_norm > 0 and direction_norm > 0:
        trust = param_norm / direction_norm
    return h.param - h.rate * trust * direction


def accele_grad(h: OracleInput) -> Array:
    """Algorithm 2 of the paper: x, y and z of step t = 0, 1, …; the parameter is the x of the step."""

    def weight(t: int) -> float:
        return 1.0 if t <= 2 else (t + 1) / 4

    t = h.count - 1
    total = h.settings["gradient_bound"] ** 2
    for i, gradient in enumerate(h.gradients):
        total += weight(i) ** 2 * np.sum(gradient**2)
    eta = h.rate * 2 * h.settings["diameter"] / np.sqrt(total)
    earlier_z = h.recorded("z")
    z = earlier_z[-1] if earlier_z else h.params[0]
    z = z - weight(t) * eta * h.gradient
    earlier_z.append(z)
    y = h.param - eta * h.gradient
    tau = 1 / weight(t + 1)
    return tau * z + (1 - tau) * y


def lion(h: OracleInput) -> Array:
    slow, fast = h.settings["beta2"], h.settings["beta1"]
    older = h.gradients[:-1]
    mean = np.zeros_like(h.param)
    if older:
        mean = (1 - slow) * weighted_sum(older, slow)
    direction = np.sign(fast * mean + (1 - fast) * h.gradient)
    decay = h.settings["weight_decay"] * h.param
    return h.param - h.rate * (direction + decay)


def muon(h: OracleInput) -> Array:
    if h.param.ndim < 2:
        defaults = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}
        return adam(OracleInput(defaults, h.params, h.gradients, h.rates))
    decay = h.settings["momentum"]
    direction = (1 - decay) * weighted_sum(h.gradients, decay)
    if h.settings["nesterov"]:
        direction = decay * direction + (1 - decay) * h.gradient
    matrix = direction.reshape(len(direction), -1)
    u, singular, v = np.linalg.svd(matrix, full_matrices=False)
    singular = singular / max(np.linalg.norm(singular), h.settings["epsilon"])
    a, b, c = h.settings["coefficients"]
    for _ in range(h.settings["iterations"]):
        singular = a * singular + b * singular**3 + c * singular**5
    move = ((u * singular) @ v).reshape(h.param.shape)
    rows, columns = matrix.shape
    scale = np.sqrt(max(1.0, rows / columns))
    decayed = (1 - h.rate * h.settings["weight_decay"]) * h.param
    return decayed - h.rate * scale * move


RULES: dict[str, Callable[[OracleInput], Array]] = {
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
    """Applies a rule step by step to every parameter, with a learning rate for each step."""

    def __init__(
        self,
        rule: Callable[[OracleInput], Array],
        settings: Mapping[str, Any],
        start: Mapping[str, Array],
        rate: Callable[[int], float],
    ):
        self.rule = rule
        self.rate = rate
        self.histories: dict[str, OracleInput] = {}
        for name, value in start.items():
            param = np.asarray(value, np.float64)
            self.histories[name] = OracleInput(settings, [param])

    @property
    def params(self) -> dict[str, Array]:
        return {name: history.param for name, history in self.histories.items()}

    def step(self, gradients: Mapping[str, Array]) -> dict[str, Array]:
        """Take one step along these gradients, and return the parameters after it."""
        for name, history in self.histories.items():
            gradient = np.asarray(gradients[name], np.float64)
            history.gradients.append(gradient)
            history.rates.append(self.rate(history.count))
            history.params.append(self.rule(history))
        return self.params
