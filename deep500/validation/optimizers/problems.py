"""What optimizers are tried on: losses whose gradients are known, and gradients that make rules stumble."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

Arrays = dict[str, np.ndarray]
Gradient = Callable[
    [Mapping[str, np.ndarray], int], Arrays
]  # of the parameters and the step


@dataclass(frozen=True)
class Problem:
    """Where the parameters start, and their gradients in every step."""

    name: str
    start: Arrays
    gradient: Gradient


def problems(seed: int = 0) -> list[Problem]:
    """All problems, drawn by a seed."""
    rng = np.random.default_rng(seed)
    return [
        quadratic(rng),
        rosenbrock(),
        small_network(rng),
        zeros_in_between(rng),
        scaled("large gradients", rng, 1e4),
        scaled("small gradients", rng, 1e-6),
    ]


def quadratic(rng: np.random.Generator) -> Problem:
    """Curvatures from 0.01 to 10 around a minimum that is not zero."""
    curvature = {
        "matrix": 10 ** rng.uniform(-2, 1, (5, 3)),
        "bias": 10 ** rng.uniform(-2, 1, 4),
    }
    minimum = {name: rng.standard_normal(c.shape) for name, c in curvature.items()}
    start = {name: rng.standard_normal(c.shape) for name, c in curvature.items()}

    def gradient(params: Mapping[str, np.ndarray], step: int) -> Arrays:
        return {
            name: c * (params[name] - minimum[name]) for name, c in curvature.items()
        }

    return Problem("quadratic", start, gradient)


def rosenbrock() -> Problem:
    """The banana valley, with its walls at a hundredth of the usual height."""

    def gradient(params: Mapping[str, np.ndarray], step: int) -> Arrays:
        x, y = params["point"]
        slope = [-2 * (1 - x) - 4 * x * (y - x * x), 2 * (y - x * x)]
        return {"point": np.array(slope)}

    return Problem("Rosenbrock", {"point": np.array([-1.2, 1.0])}, gradient)


def small_network(rng: np.random.Generator) -> Problem:
    """Two layers with tanh between them, on 16 examples."""
    start = {
        "layer1.weight": rng.standard_normal((6, 4)) / 2,
        "layer1.bias": np.zeros(6),
        "layer2.weight": rng.standard_normal((2, 6)) / 2,
        "layer2.bias": np.zeros(2),
    }
    inputs, targets = rng.standard_normal((16, 4)), rng.standard_normal((16, 2))

    def gradient(params: Mapping[str, np.ndarray], step: int) -> Arrays:
        hidden = np.tanh(inputs @ params["layer1.weight"].T + params["layer1.bias"])
        outputs = hidden @ params["layer2.weight"].T + params["layer2.bias"]
        error = 2 * (outputs - targets) / targets.size
        back = (error @ params["layer2.weight"]) * (1 - hidden**2)
        return {
            "layer1.weight": back.T @ inputs,
            "layer1.bias": back.sum(axis=0),
            "layer2.weight": error.T @ hidden,
            "layer2.bias": error.sum(axis=0),
        }

    return Problem("small network", start, gradient)


def zeros_in_between(rng: np.random.Generator) -> Problem:
    """Most elements have no gradient most of the time; one parameter never has any, another starts at zero."""
    start = {
        "rows": rng.standard_normal((6, 3)),
        "unused": np.ones(3),
        "zeros": np.zeros((2, 2)),
    }
    key = int(rng.integers(0, 2**31))

    def gradient(params: Mapping[str, np.ndarray], step: int) -> Arrays:
        own = np.random.default_rng([key, step])
        used = own.random((6, 3)) < 0.2
        return {
            "rows": np.where(used, own.standard_normal((6, 3)), 0.0),
            "unused": np.zeros(3),
            "zeros": own.standard_normal((2, 2)) * (step % 3 == 0),
        }

    return Problem("zeros", start, gradient)


def scaled(name: str, rng: np.random.Generator, scale: float) -> Problem:
    """Random gradients, the same in every run, of one order of magnitude."""
    start = {
        "matrix": rng.standard_normal((4, 5)),
        "bias": 0.01 * rng.standard_normal(3),
    }
    key = int(rng.integers(0, 2**31))

    def gradient(params: Mapping[str, np.ndarray], step: int) -> Arrays:
        own = np.random.default_rng([key, step])
        return {
            name: scale
            * own.standard_normal(value.shape)
            * 10 ** own.uniform(-1, 1, value.shape)
            for name, value in start.items()
        }

    return Problem(name, start, gradient)
