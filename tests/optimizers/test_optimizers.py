"""Every optimizer, step by step, against torch.optim in float64; and the laws of the contract."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from deep500.contracts.framework import Framework
from deep500.contracts.optimizer import Optimizer, State
from deep500.frameworks import framework
from deep500.optimizers import SGD, Adam, Momentum

STEPS = 20
PAIRS: dict[str, tuple[Optimizer, Callable]] = {
    "sgd": (SGD(0.1), lambda p: torch.optim.SGD(p, 0.1)),
    "momentum": (Momentum(0.1, 0.9), lambda p: torch.optim.SGD(p, 0.1, momentum=0.9)),
    "adam": (Adam(), lambda p: torch.optim.Adam(p, 1e-3)),
    "adam, other settings": (
        Adam(0.02, 0.7, 0.95, 1e-3),
        lambda p: torch.optim.Adam(p, 0.02, betas=(0.7, 0.95), eps=1e-3),
    ),
}
RNG = np.random.default_rng(0)
START = 0.01 * RNG.standard_normal((5, 3))  # small, so that rounding the parameter hides nothing
GRADS = RNG.standard_normal((STEPS, 5, 3)) * 10 ** RNG.uniform(-3, 1, (STEPS, 5, 3))


def oracle(make: Callable) -> list[np.ndarray]:
    """The parameter after every step of torch's own optimizer, in float64."""
    param = torch.tensor(START, requires_grad=True)
    optimizer, found = make([param]), []
    for grad in GRADS:
        param.grad = torch.tensor(grad)
        optimizer.step()
        found.append(param.detach().numpy().copy())
    return found


def steps(optimizer: Optimizer, fw: Framework, dtype: str) -> list[np.ndarray]:
    """The parameter after every step of ours."""
    param, found = fw.tensor(START, dtype), []
    state = optimizer.init(fw.xp, param)
    for i, grad in enumerate(GRADS):
        step = fw.tensor(np.float32(i + 1))
        param, state = optimizer.update(fw.xp, param, fw.tensor(grad, dtype), state, step)
        found.append(np.array(fw.array(param)))
    return found


def worst(found: list[np.ndarray], expected: list[np.ndarray]) -> float:
    """The largest difference at any step, against how far the parameter has moved by then."""
    return max(
        float(np.abs(a - b).max() / np.abs(b - START).max())
        for a, b in zip(found, expected, strict=True)
    )


@pytest.mark.parametrize(("dtype", "bound"), [("float64", 1e-13), ("float32", 2e-5)])
@pytest.mark.parametrize("name", ["reference", "pytorch"])
@pytest.mark.parametrize("pair", PAIRS)
def test_every_step_is_the_oracles(pair: str, name: str, dtype: str, bound: float) -> None:
    ours, make = PAIRS[pair]
    found = steps(ours, framework(name), dtype)
    assert found[0].dtype == dtype
    assert worst(found, oracle(make)) < bound


class Uncorrected(Adam):
    """Adam without the correction of the bias."""

    def update(self, xp: Any, param: Any, grad: Any, state: State, step: Any) -> tuple[Any, State]:
        return super().update(xp, param, grad, state, step + 1000)


class Ascent(Momentum):
    """A wrong sign."""

    def update(self, xp: Any, param: Any, grad: Any, state: State, step: Any) -> tuple[Any, State]:
        new, state = super().update(xp, param, grad, state, step)
        return 2 * param - new, state


class Dampened(Momentum):
    """The other momentum: the gradient is weighted by 1 - momentum."""

    def update(self, xp: Any, param: Any, grad: Any, state: State, step: Any) -> tuple[Any, State]:
        return super().update(xp, param, (1 - self.momentum) * grad, state, step)


@pytest.mark.parametrize(
    ("wrong", "pair"),
    [
        (Uncorrected(), "adam"),
        (Ascent(0.1, 0.9), "momentum"),
        (Dampened(0.1, 0.9), "momentum"),
        (SGD(0.1001), "sgd"),
        (Adam(epsilon=1e-6), "adam"),
    ],
)
def test_a_planted_error_is_seen(wrong: Optimizer, pair: str) -> None:
    assert worst(steps(wrong, framework("reference"), "float32"), oracle(PAIRS[pair][1])) > 2e-5


@pytest.mark.parametrize("pair", PAIRS)
def test_updates_are_pure(pair: str) -> None:
    optimizer, xp = PAIRS[pair][0], framework("reference").xp
    param, grad = START.copy(), GRADS[0].copy()
    state = optimizer.init(xp, param)
    before = {name: value.copy() for name, value in state.items()}
    first = optimizer.update(xp, param, grad, state, np.float32(1))
    again = optimizer.update(xp, param, grad, state, np.float32(1))
    assert (
        np.array_equal(first[0], again[0])
        and np.array_equal(param, START)
        and np.array_equal(grad, GRADS[0])
    )
    assert all(np.array_equal(state[name], before[name]) for name in before)
    assert first[1].keys() == state.keys()


@pytest.mark.parametrize("pair", PAIRS)
def test_an_elementwise_rule_may_be_flattened(pair: str) -> None:
    optimizer, xp = PAIRS[pair][0], framework("reference").xp
    whole = optimizer.update(xp, START, GRADS[0], optimizer.init(xp, START), np.float32(1))[0]
    parts = [
        optimizer.update(xp, p, g, optimizer.init(xp, p), np.float32(1))[0]
        for p, g in zip(START, GRADS[0], strict=True)
    ]
    assert optimizer.elementwise and np.array_equal(whole, np.stack(parts))
