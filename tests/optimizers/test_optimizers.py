"""Every optimizer, step by step, against float64 oracles, torch.optim and optax; and the laws of the contract."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import deep500 as d5
from deep500 import registry
from deep500.check.optimizers.oracles import RULES, Oracle
from deep500.check.optimizers.problems import problems
from deep500.check.optimizers.stepping import trajectory
from deep500.contracts.modifier import Modifier
from deep500.contracts.optimizer import Optimizer, State
from deep500.frameworks import framework
from deep500.optimizers import (
    LAMB,
    LARS,
    SGD,
    AcceleGrad,
    AdaGrad,
    Adam,
    AdamW,
    AMSGrad,
    Lion,
    Momentum,
    Muon,
    Nesterov,
    RMSProp,
)
from deep500.training.given_gradients import batch_of, fed_executor

FRAMEWORKS = ["reference", "pytorch", "jax", "tensorflow", "onnxruntime"]
OPTIMIZERS: dict[str, Optimizer] = {
    "SGD": SGD(0.01),
    "Momentum": Momentum(0.01),
    "Nesterov": Nesterov(0.01, 0.8),
    "AdaGrad": AdaGrad(),
    "AdaGrad, all settings": AdaGrad(0.1, 0.01, 0.1),
    "RMSProp": RMSProp(),
    "RMSProp, all settings": RMSProp(0.01, 0.9, 1e-8, 0.5, True),
    "Adam": Adam(),
    "Adam, other settings": Adam(0.02, 0.7, 0.95, 1e-3),
    "AdamW": AdamW(),
    "AMSGrad": AMSGrad(),
    "LARS": LARS(0.1),
    "LARS with decay": LARS(0.1, 0.9, 0.01),
    "LAMB": LAMB(weight_decay=0.1),
    "AcceleGrad": AcceleGrad(),
    "Lion": Lion(),
    "Muon": Muon(),
}
ONE_OF_EACH = [name for name in OPTIMIZERS if "," not in name and "with" not in name]


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> None:
    framework("pytorch").set_threads(1)


def by_oracle(optimizer: Optimizer, number: int, steps: int) -> tuple[Any, list, list]:
    """A problem, its gradients along the oracle's path, and that path."""
    problem = problems()[number]
    rate: Any = optimizer.learning_rate  # type: ignore[attr-defined]
    rule = RULES[type(optimizer).__name__]
    oracle = Oracle(rule, optimizer.settings, problem.start, lambda step: rate)
    gradients, path = [], []
    for step in range(steps):
        gradients.append(problem.gradient(oracle.params, step))
        path.append(oracle.step(gradients[-1]))
    return problem, gradients, path


def worst(found: list, expected: list, start: dict) -> float:
    """The largest difference at any step, against how far the parameter has moved by then."""
    largest = 0.0
    moved = dict.fromkeys(start, 0.0)
    for ours, theirs in zip(found, expected, strict=True):
        for name, value in theirs.items():
            moved[name] = max(moved[name], np.abs(value - start[name]).max())
            error = np.abs(ours[name] - value).max()
            if error:
                largest = max(largest, error / moved[name] if moved[name] else np.inf)
    return largest


def test_every_optimizer_has_an_oracle() -> None:
    names = registry.known("optimizers")
    rules = [
        n for n in names if not issubclass(registry.find("optimizers", n), Modifier)
    ]
    assert sorted(RULES) == sorted(rules) == sorted(ONE_OF_EACH)


@pytest.mark.parametrize("name", FRAMEWORKS)
@pytest.mark.parametrize("which", ONE_OF_EACH)
def test_every_step_is_the_oracles(which: str, name: str) -> None:
    """On a small network; all problems, settings and 100 steps are in the slow test below."""
    problem, gradients, path = by_oracle(OPTIMIZERS[which], 2, 5)
    found = trajectory(name, OPTIMIZERS[which], problem.start, gradients, "float64")
    assert worst(found, path, problem.start) < 1e-10


@pytest.mark.parametrize("which", OPTIMIZERS)
@pytest.mark.parametrize("number", range(6))
def test_a_hundred_steps_are_the_oracles(which: str, number: int) -> None:
    optimizer = OPTIMIZERS[which]
    problem, gradients, path = by_oracle(optimizer, number, 100)
    found = by_formula(optimizer, problem.start, gradients)
    assert worst(found, path, problem.start) < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("name", FRAMEWORKS)
@pytest.mark.parametrize("which", OPTIMIZERS)
def test_a_hundred_steps_on_every_framework(which: str, name: str) -> None:
    for number in range(6):
        problem, gradients, path = by_oracle(OPTIMIZERS[which], number, 100)
        found = trajectory(name, OPTIMIZERS[which], problem.start, gradients, "float64")
        assert worst(found, path, problem.start) < 1e-10


def by_formula(
    optimizer: Optimizer, start: dict, gradients: list
) -> list[dict[str, np.ndarray]]:
    """The parameters after every step of the formula alone, in float64."""
    xp = d5.framework("reference").xp
    params = {name: np.array(value) for name, value in start.items()}
    states = {
        name: optimizer.init_named(xp, name, value) for name, value in params.items()
    }
    path = []
    for number, grads in enumerate(gradients, 1):
        step = np.asarray(number, np.float32)
        for name, param, state in optimizer.updates(
            xp, {**params}, grads, {**states}, step
        ):
            params[name], states[name] = param, state
        path.append({**params})
    return path


TORCH: dict[str, tuple[Optimizer, Callable]] = {
    "SGD": (SGD(0.1), lambda p: torch.optim.SGD(p, 0.1)),
    "SGD's default": (SGD(), torch.optim.SGD),
    "Momentum": (Momentum(0.1, 0.9), lambda p: torch.optim.SGD(p, 0.1, momentum=0.9)),
    "Nesterov": (
        Nesterov(0.1, 0.9),
        lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True),
    ),
    "AdaGrad": (AdaGrad(), torch.optim.Adagrad),
    "RMSProp": (RMSProp(), torch.optim.RMSprop),
    "RMSProp, all settings": (
        RMSProp(0.01, 0.9, 1e-8, 0.5, True),
        lambda p: torch.optim.RMSprop(p, 0.01, 0.9, 1e-8, momentum=0.5, centered=True),
    ),
    "Adam": (Adam(), torch.optim.Adam),
    "AdamW": (AdamW(), torch.optim.AdamW),
    "AMSGrad": (AMSGrad(), lambda p: torch.optim.Adam(p, amsgrad=True)),
}


@pytest.mark.parametrize("which", TORCH)
def test_defaults_and_steps_are_those_of_torch(which: str) -> None:
    ours, make = TORCH[which]
    problem = problems()[4]
    gradients = [problem.gradient({}, step) for step in range(100)]
    params = {
        name: torch.tensor(v, requires_grad=True) for name, v in problem.start.items()
    }
    optimizer, path = make([*params.values()]), []
    for grads in gradients:
        for name, param in params.items():
            param.grad = torch.tensor(grads[name])
        optimizer.step()
        path.append(
            {name: param.detach().numpy().copy() for name, param in params.items()}
        )
    assert (
        worst(by_formula(ours, problem.start, gradients), path, problem.start) < 1e-10
    )


OPTAX: dict[str, Optimizer] = {
    "lars": LARS(0.1),
    "lamb": LAMB(1e-3),
    "lion": Lion(1e-4),
    "adamw": AdamW(1e-3, weight_decay=1e-4),
    "adam": Adam(1e-3),
}


@pytest.mark.parametrize("which", OPTAX)
def test_steps_are_those_of_optax(which: str) -> None:
    jax = d5.framework("jax").module
    optax = pytest.importorskip("optax")
    ours = OPTAX[which]
    theirs = getattr(optax, which)(ours.learning_rate)  # type: ignore[attr-defined]
    problem = problems()[4]
    gradients = [problem.gradient({}, step) for step in range(100)]
    params = {name: jax.numpy.array(value) for name, value in problem.start.items()}
    state, path = theirs.init(params), []
    update = jax.jit(theirs.update)
    for grads in gradients:
        updates, state = update(grads, state, params)
        params = optax.apply_updates(params, updates)
        path.append({name: np.asarray(value) for name, value in params.items()})
    assert (
        worst(by_formula(ours, problem.start, gradients), path, problem.start) < 1e-10
    )


@pytest.mark.parametrize("which", OPTIMIZERS)
def test_float32_stays_near(which: str) -> None:
    problem, gradients, path = by_oracle(OPTIMIZERS[which], 0, 20)
    found = trajectory(
        "reference", OPTIMIZERS[which], problem.start, gradients, "float32"
    )
    assert found[0]["bias"].dtype == "float32"
    assert worst(found, path, problem.start) < 2e-3


@pytest.mark.parametrize("which", OPTIMIZERS)
def test_updates_are_pure(which: str) -> None:
    optimizer, xp = OPTIMIZERS[which], framework("reference").xp
    problem = problems()[4]
    param, grad = problem.start["matrix"], problem.gradient({}, 0)["matrix"]
    old_param, old_grad = param.copy(), grad.copy()
    state = optimizer.init(xp, param)
    before = {name: np.array(value) for name, value in state.items()}
    first = optimizer.update(xp, param, grad, state, np.float32(1))
    again = optimizer.update(xp, param, grad, state, np.float32(1))
    assert np.array_equal(first[0], again[0])
    assert np.array_equal(param, old_param) and np.array_equal(grad, old_grad)
    assert all(np.array_equal(state[name], before[name]) for name in before)
    assert first[1].keys() == state.keys()


@pytest.mark.parametrize("which", [n for n, o in OPTIMIZERS.items() if o.elementwise])
def test_an_elementwise_rule_may_be_flattened(which: str) -> None:
    optimizer, xp = OPTIMIZERS[which], framework("reference").xp
    problem = problems()[4]
    start, grads = problem.start["matrix"], problem.gradient({}, 0)["matrix"]
    whole = optimizer.update(
        xp, start, grads, optimizer.init(xp, start), np.float32(1)
    )[0]
    parts = [
        optimizer.update(xp, p, g, optimizer.init(xp, p), np.float32(1))[0]
        for p, g in zip(start, grads, strict=True)
    ]
    assert np.array_equal(whole, np.stack(parts))


@pytest.mark.parametrize("name", FRAMEWORKS)
@pytest.mark.parametrize("which", ["AcceleGrad", "Muon", "RMSProp, all settings"])
def test_a_resumed_step_gives_the_same_bits(which: str, name: str) -> None:
    problem, gradients, _ = by_oracle(OPTIMIZERS[which], 2, 4)
    whole = trajectory(name, OPTIMIZERS[which], problem.start, gradients, "float32")
    executor = fed_executor(name, problem.start, "float32")
    step = executor.training_step(OPTIMIZERS[which])
    for grads in gradients[:2]:
        step(batch_of(grads, "float32"))
    resumed = fed_executor(name, executor.arrays(), "float32")
    again = resumed.training_step(OPTIMIZERS[which])
    again.load_state(step.state())
    for grads in gradients[2:]:
        again(batch_of(grads, "float32"))
    for param, value in resumed.arrays().items():
        assert np.array_equal(value, whole[-1][param])


class Uncorrected(Adam):
    """Adam without the correction of the bias."""

    def update(
        self, xp: Any, param: Any, grad: Any, state: State, step: Any
    ) -> tuple[Any, State]:
        return super().update(xp, param, grad, state, step + 1000)


class Ascent(Momentum):
    """A wrong sign."""

    def update(
        self, xp: Any, param: Any, grad: Any, state: State, step: Any
    ) -> tuple[Any, State]:
        new, state = super().update(xp, param, grad, state, step)
        return 2 * param - new, state


class Dampened(Momentum):
    """The other momentum: the gradient is weighted by 1 - momentum."""

    def update(
        self, xp: Any, param: Any, grad: Any, state: State, step: Any
    ) -> tuple[Any, State]:
        return super().update(xp, param, (1 - self.momentum) * grad, state, step)


@pytest.mark.parametrize(
    ("wrong", "which"),
    [
        (Uncorrected(), "Adam"),
        (Ascent(0.01, 0.9), "Momentum"),
        (Dampened(0.01, 0.9), "Momentum"),
        (SGD(0.01001), "SGD"),
        (Adam(epsilon=1e-6), "Adam"),
        (Muon(iterations=4), "Muon"),
        (LARS(0.1, weight_decay=0.011), "LARS with decay"),
    ],
)
def test_a_planted_error_is_seen(wrong: Optimizer, which: str) -> None:
    problem, gradients, path = by_oracle(OPTIMIZERS[which], 5, 10)
    assert (
        worst(by_formula(wrong, problem.start, gradients), path, problem.start) > 1e-5
    )
