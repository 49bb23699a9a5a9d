"""The problems that optimizers are checked on: losses with known gradients, and gradients that are hard for a rule."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

Arrays = dict[str, np.ndarray]
# from the parameters and the number of the step to the gradients
Gradient = Callable[[Mapping[str, np.ndarray], int], Arrays]


@dataclass(frozen=True)
class TrainingProblem:
    """The initial parameters, and a function that gives their gradients in every step."""

    name: str
    start: Arrays
    gradient: Gradient


def problems(seed: int = 0) -> list[TrainingProblem]:
    """All problems; the seed determines their random numbers."""
    rng = np.random.default_rng(seed)
    return [
        quadratic(rng),
        rosenbrock(),
        small_network(rng),
        zeros_in_between(rng),
        scaled("large gradients", rng, 1e4),
        scaled("small gradients", rng, 1e-6),
    ]


def quadratic(rng: np.random.Generator) -> TrainingProblem:
    """Curvatures from 0.01 to 10 around a minimum that is not zero."""
    curvature = {
        "matrix": 10 ** rng.uniform(-2, 1, (5, 3)),
        "bias": 10 ** rng.uniform(-2, 1, 4),
    }
    minimum = _normal_like(curvature, rng)
    start = _normal_like(curvature, rng)

    def gradient(params: Mapping[str, np.ndarray], step: int) -> Arrays:
        gradients = {}
        for name, scale in curvature.items():
            gradients[name] = scale * (params[name] - minimum[name])
        return gradients

    return TrainingProblem("quadratic", start, gradient)


def _normal_like(arrays: Arrays, rng: np.random.Generator) -> Arrays:
    """Random arrays of the same shapes."""
    return {name: rng.standard_normal(a.shape) for name, a in arrays.items()}


def rosenbrock() -> TrainingProblem:
    """The banana valley, with its walls at a hundredth of the usual height."""

    def gradient(params: Mapping[str, np.ndarray], step: int) -> Arrays:
        x, y = params["point"]
        offset = y - x * x
        by_x = -2 * (1 - x) - 4 * x * offset
        by_y = 2 * offset
        return {"point": np.array([by_x, by_y])}

    start = {"point": np.array([-1.2, 1.0])}
    return TrainingProblem("Rosenbrock", start, gradient)


def small_network(rng: np.random.Generator) -> TrainingProblem:
    """Two layers with tanh between them, on 16 examples."""
    start = {
        "layer1.weight": rng.standard_normal((6, 4)) / 2,
        "layer1.bias": np.zeros(6),
        "layer2.weight": rng.standard_normal((2, 6)) / 2,
        "layer2.bias": np.zeros(2),
    }
    inputs = rng.standard_normal((16, 4))
    targets = rng.standard_normal((16, 2))

    def gradient(params: Mapping[str, np.ndarray], step: int) -> Arrays:
        weight1, bias1 = params["layer1.weight"], params["layer1.bias"]
        weight2, bias2 = params["layer2.weight"], params["layer2.bias"]
        hidden = np.tanh(inputs @ weight1.T + bias1)
        outputs = hidden @ weight2.T + bias2
        error = 2 * (outputs - targets) / targets.size
        back = (error @ weight2) * (1 - hidden**2)
        return {
            "layer1.weight": back.T @ inputs,
            "layer1.bias": back.sum(axis=0),
            "layer2.weight": error.T @ hidden,
            "layer2.bias": error.sum(axis=0),
        }

    return TrainingProblem("small network", start, gradient)


def zeros_in_between(rng: np.random.Generator) -> TrainingProblem:
    """Most elements have a zero gradient in most steps; one parameter never has another one, and one starts at zero."""
    start = {
        "rows": rng.standard_normal((6, 3)),
        "unused": np.ones(3),
        "zeros": np.zeros((2, 2)),
    }
    key = int(rng.integers(0, 2**31))

    def gradient(params: Mapping[str, np.ndarray], step: int) -> Arrays:
        step_rng = np.random.default_rng([key, step])
        is_used = step_rng.random((6, 3)) < 0.2
        rows = np.where(is_used, step_rng.standard_normal((6, 3)), 0.0)
        zeros = step_rng.standard_normal((2, 2)) * (step % 3 == 0)
        return {"rows": rows, "unused": np.zeros(3), "zeros": zeros}

    return TrainingProblem("zeros", start, gradient)


def scaled(name: str, rng: np.random.Generator, scale: float) -> TrainingProblem:
    """Random gradients around one order of magnitude, the same in every run."""
    start = {
        "matrix": rng.standard_normal((4, 5)),
        "bias": 0.01 * rng.standard_normal(3),
    }
    key = int(rng.integers(0, 2**31))

    def gradient(params: Mapping[str, np.ndarray], step: int) -> Arrays:
        step_rng = np.random.default_rng([key, step])
        gradients = {}
        for name, value in start.items():
            scaled_normal = scale * step_rng.standard_normal(value.shape)
            spread = 10 ** step_rng.uniform(-1, 1, value.shape)
            gradients[name] = scaled_normal * spread
        return gradients

    return TrainingProblem(name, start, gradient)


def slope(seed: int) -> TrainingProblem:
    """A linear loss: its gradient never changes, so that every rule with the right sign descends, at any rate.

    The start is at right angles to the gradient, so that weight decay changes nothing in the loss.
    """
    rng = np.random.default_rng([seed, 1])
    gradients = {
        "matrix": rng.standard_normal((5, 3)),
        "bias": rng.standard_normal(4),
    }
    start = {}
    for name, value in gradients.items():
        random = rng.standard_normal(value.shape)
        along = (random * value).sum() / np.square(value).sum()
        start[name] = random - along * value

    def gradient(params: Mapping[str, np.ndarray], step: int) -> Arrays:
        return gradients

    return TrainingProblem("slope", start, gradient)
