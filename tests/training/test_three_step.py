"""Optimizers as plain classes, on every framework; and any optimizer as three steps."""

from typing import Any

import numpy as np
import pytest

import deep500 as d5
import deep500.frameworks.pytorch as d5fw
from deep500.contracts.executor import Executor
from deep500.contracts.network import Network
from deep500.frameworks import jax, tensorflow
from deep500.training.three_step import three_steps

FRAMEWORKS = ["reference", "pytorch", "jax", "tensorflow", "onnxruntime"]


class MyMomentum(d5.UpdateRuleOptimizer):
    """Momentum as a user writes it."""

    def __init__(self, learning_rate: float, momentum: float):
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.velocity: dict[str, np.ndarray] = {}

    def update_rule(
        self, grad: np.ndarray, old_param: np.ndarray, param_name: str
    ) -> np.ndarray:
        velocity = self.velocity.get(param_name, np.zeros_like(old_param))
        self.velocity[param_name] = self.momentum * velocity + grad
        return old_param - self.learning_rate * self.velocity[param_name]


class MyLookAhead(d5.ThreeStepOptimizer):
    """Nesterov's momentum as in the papers: the gradient is taken where momentum leads to."""

    def __init__(self, learning_rate: float):
        self.learning_rate = learning_rate
        self.steps = 0
        self.velocity: dict[str, np.ndarray] = {}
        self.start: Any = None

    def new_input(self) -> None:
        self.steps += 1
        self.start = self.start or {}

    def prepare_param(self, param_name: str) -> np.ndarray:
        [param] = self.network.fetch_tensors([param_name])
        self.start[param_name] = param
        return param - self.learning_rate * self.velocity.get(param_name, 0.0 * param)

    def update_rule(
        self, grad: np.ndarray, old_param: np.ndarray, param_name: str
    ) -> np.ndarray:
        velocity = self.velocity.get(param_name, np.zeros_like(old_param))
        self.velocity[param_name] = 0.9 * velocity + grad
        return self.start[param_name] - self.learning_rate * self.velocity[param_name]


def network() -> Network:
    return d5.networks.Mlp((8,)).build((1, 4, 4), 3, seed=0)


def batch() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((6, 1, 4, 4)).astype("float32")
    return {"x": x, "label": rng.integers(0, 3, 6)}


def executor(name: str) -> Executor:
    return d5.framework(name).executor(network())


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_an_update_rule_runs_on_every_framework(name: str) -> None:
    ours, theirs = executor(name), executor(name)
    mine = MyMomentum(0.1, 0.9)
    by_class = ours.training_step(mine)
    by_definition = theirs.training_step(d5.optimizers.Momentum(0.1, 0.9))
    for _ in range(3):
        by_class(batch())
        by_definition(batch())
    expected = theirs.arrays()
    for param, value in ours.arrays().items():
        np.testing.assert_allclose(value, expected[param], rtol=1e-5, atol=1e-6)
    assert not mine.velocity  # the step works on a copy


@pytest.mark.parametrize("name", ["reference", "pytorch", "onnxruntime"])
def test_three_steps_resume_to_the_same_bits(name: str) -> None:
    whole = executor(name)
    step = whole.training_step(MyLookAhead(0.1))
    for _ in range(2):
        step(batch())
    state, params = step.state(), whole.arrays()
    step(batch())
    resumed = executor(name)
    resumed.load(params)
    again = resumed.training_step(MyLookAhead(0.1))
    again.load_state(state)
    again(batch())
    assert again.optimizer.steps == 3
    for param, value in whole.arrays().items():
        assert np.array_equal(value, resumed.arrays()[param])


OPTIMIZERS = [(name, d5.optimizers.Momentum(0.1, 0.9)) for name in FRAMEWORKS]
OPTIMIZERS += [
    ("pytorch", d5fw.MomentumOptimizer(0.1, 0.9)),
    ("tensorflow", tensorflow.MomentumOptimizer(0.1, 0.9)),
    ("jax", jax.MomentumOptimizer(0.1, 0.9)),
]


@pytest.mark.parametrize(("name", "optimizer"), OPTIMIZERS)
def test_the_loop_of_the_talks_runs_over_any_optimizer(
    name: str, optimizer: Any
) -> None:
    by_loop, by_step = executor(name), executor(name)
    base = three_steps(optimizer, by_loop)
    step = by_step.training_step(d5.optimizers.Momentum(0.1, 0.9))
    for _ in range(3):
        base.new_input()
        for param in by_loop.network.get_params():
            base.prepare_param(param)
        by_loop.inference_and_backprop(batch(), base.loss)
        for param, grad in by_loop.network.gradient(base.loss):
            old, gradient = by_loop.network.fetch_tensors([param, grad])
            by_loop.network.feed_tensor(param, base.update_rule(gradient, old, param))
        step(batch())
    for param, value in by_step.arrays().items():
        np.testing.assert_allclose(by_loop.arrays()[param], value, rtol=1e-5, atol=1e-6)
    other = three_steps(optimizer, by_loop)
    other.load_state(base.state())
    base.new_input()
    other.new_input()
    [old, gradient] = by_loop.network.fetch_tensors([param, grad])
    again = other.update_rule(gradient, old, param)
    assert np.array_equal(again, base.update_rule(gradient, old, param))


def test_a_trainer_takes_a_class_and_resumes(tmp_path: Any) -> None:
    data = d5.datasets.Digits().load()
    network = d5.networks.Mlp((8,)).build((1, 8, 8), 10, seed=0)
    reference = d5.framework("reference")
    sampler = d5.ShuffleSampler(256)

    def trainer(epochs: int) -> d5.Trainer:
        executor = reference.executor(network)
        return d5.Trainer(
            executor,
            MyMomentum(0.1, 0.9),
            splits=data,
            sampler=sampler,
            epochs=epochs,
            events=[],
        )

    whole = trainer(2)
    whole.run()
    first = trainer(1)
    first.run()
    second = trainer(2)
    second.run(first.checkpoint())
    for name, value in whole.executor.arrays().items():
        assert np.array_equal(value, second.executor.arrays()[name])


class Forgetful(d5.UpdateRuleOptimizer):
    def update_rule(
        self, grad: np.ndarray, old_param: np.ndarray, param_name: str
    ) -> np.ndarray:
        return None


class Narrow(d5.UpdateRuleOptimizer):
    def update_rule(
        self, grad: np.ndarray, old_param: np.ndarray, param_name: str
    ) -> np.ndarray:
        return np.zeros(7, "float32")


class Drawing(d5.UpdateRuleOptimizer):
    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def update_rule(
        self, grad: np.ndarray, old_param: np.ndarray, param_name: str
    ) -> np.ndarray:
        return old_param


@pytest.mark.parametrize(
    ("optimizer", "message"),
    [
        (Forgetful(), "update_rule of Forgetful returns nothing: return the new"),
        (Narrow(), "update_rule of Narrow returns \\(7,\\) for"),
        (d5.UpdateRuleOptimizer(), "has no method 'update_rule'"),
        (MyMomentum, "is no optimizer: give an instance"),
    ],
)
def test_a_mistake_is_told_in_one_line(optimizer: Any, message: str) -> None:
    with pytest.raises(d5.Deep500Error, match=message):
        executor("reference").training_step(optimizer)(batch())


def test_state_that_a_checkpoint_cannot_hold_is_refused() -> None:
    step = executor("reference").training_step(Drawing())
    with pytest.raises(
        d5.Deep500Error, match="Drawing.rng is a Generator, which a checkpoint"
    ):
        step.state()
