"""The frameworks' own optimizers: the same steps as ours, state that resumes, and no other framework's executor."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import deep500 as d5
import deep500.frameworks.jax as d5jax
import deep500.frameworks.pytorch as d5torch
import deep500.frameworks.tensorflow as d5tf
from deep500.check.optimizers.problems import problems
from deep500.check.optimizers.stepping import trajectory
from deep500.contracts.native_optimizer import NativeOptimizer
from deep500.optimizers import LAMB, SGD, AdaGrad, Adam, AdamW, AMSGrad, Lion, Momentum
from deep500.optimizers import Nesterov as OurNesterov
from deep500.optimizers import RMSProp as OurRMSProp
from deep500.schedules import Cosine
from deep500.training.given_gradients import batch_of, fed_executor

NESTEROV, RMSPROP = OurNesterov(0.1, 0.9), OurRMSProp(0.01, 0.9)
SCHEDULE = Cosine(0.1, 5)
PAIRS: list[tuple[NativeOptimizer, Any]] = [
    (d5torch.SGDOptimizer(0.1), SGD(0.1)),
    (d5torch.SGDOptimizer(SCHEDULE), SGD(SCHEDULE)),
    (d5torch.MomentumOptimizer(0.1, 0.9), Momentum(0.1, 0.9)),
    (d5torch.NesterovOptimizer(0.1, 0.9), NESTEROV),
    (d5torch.AdaGradOptimizer(), AdaGrad()),
    (d5torch.RMSPropOptimizer(0.01, 0.9), RMSPROP),
    (d5torch.AdamOptimizer(), Adam()),
    (d5torch.AMSGradOptimizer(), AMSGrad()),
    (d5torch.AdamWOptimizer(), AdamW()),
    (d5jax.SGDOptimizer(SCHEDULE), SGD(SCHEDULE)),
    (d5jax.MomentumOptimizer(0.1, 0.9), Momentum(0.1, 0.9)),
    (d5jax.NesterovOptimizer(0.1, 0.9), NESTEROV),
    (d5jax.RMSPropOptimizer(0.01, 0.9), RMSPROP),
    (d5jax.AdamOptimizer(), Adam()),
    (d5jax.AdamWOptimizer(), AdamW()),
    (d5jax.LionOptimizer(), Lion()),
    (d5jax.LAMBOptimizer(), LAMB()),
    (d5tf.SGDOptimizer(SCHEDULE), SGD(SCHEDULE)),
    (d5tf.MomentumOptimizer(0.1, 0.9), Momentum(0.1, 0.9)),
    (d5tf.NesterovOptimizer(0.1, 0.9), NESTEROV),
    (d5tf.AdamWOptimizer(), AdamW()),
]


@pytest.mark.parametrize(("native", "ours"), PAIRS, ids=lambda o: type(o).__name__)
def test_steps_are_those_of_the_rule_written_once(
    native: NativeOptimizer, ours: Any
) -> None:
    d5.framework("pytorch").set_threads(1)
    problem = problems()[0]
    gradients = [problem.gradient(problem.start, step) for step in range(4)]
    found = trajectory(native.framework, native, problem.start, gradients, "float32")
    expected = trajectory("reference", ours, problem.start, gradients, "float32")
    for name, value in expected[-1].items():
        np.testing.assert_allclose(found[-1][name], value, rtol=2e-5, atol=2e-6)
        assert np.abs(value - problem.start[name]).max() > 1e-5


RESUMED = [
    d5torch.MomentumOptimizer(0.1),
    d5torch.AdamOptimizer(),
    d5jax.AdamOptimizer(),
    d5tf.AdamOptimizer(),
    d5tf.AdaGradOptimizer(),
    d5jax.AdaGradOptimizer(),
    d5tf.RMSPropOptimizer(),
]


@pytest.mark.parametrize(
    "native", RESUMED, ids=lambda o: f"{o.framework}-{type(o).__name__}"
)
def test_state_resumes_to_the_same_bits(native: NativeOptimizer) -> None:
    problem = problems()[0]
    batches = [
        batch_of(problem.gradient(problem.start, step), "float32") for step in range(4)
    ]
    whole = fed_executor(native.framework, problem.start, "float32")
    step = whole.training_step(native)
    fresh = step.state()
    for batch in batches[:2]:
        step(batch)
    state, params = step.state(), whole.arrays()
    assert fresh.keys() == state.keys()
    for batch in batches[2:]:
        step(batch)
    resumed = fed_executor(native.framework, params, "float32")
    again = resumed.training_step(native)
    again.load_state(state)
    for batch in batches[2:]:
        again(batch)
    for name, value in whole.arrays().items():
        assert np.array_equal(value, resumed.arrays()[name])
    # back at the start, as a trainer goes after its trial step
    again.load_state(fresh)
    resumed.load({name: np.array(v, "float32") for name, v in problem.start.items()})
    for batch in batches:
        again(batch)
    for name, value in whole.arrays().items():
        assert np.array_equal(value, resumed.arrays()[name])


def test_another_frameworks_executor_is_refused() -> None:
    executor = fed_executor("reference", problems()[0].start, "float32")
    message = (
        "MomentumOptimizer is pytorch's own optimizer, and the executor is reference's"
    )
    with pytest.raises(d5.Unsupported, match=message):
        executor.training_step(d5torch.MomentumOptimizer(0.1, 0.9))


def test_a_modifier_is_refused() -> None:
    with pytest.raises(d5.Deep500Error, match="takes no ClipByNorm"):
        _ = d5torch.AdamOptimizer() | d5.optimizers.ClipByNorm(1.0)


def test_a_trainer_takes_one() -> None:
    data = d5.datasets.Digits().load()
    network = d5.networks.Mlp((16,)).build((1, 8, 8), 10, seed=0)
    executor = d5torch.from_model(network)
    optimizer = d5torch.MomentumOptimizer(0.1, 0.9)
    sampler = d5.ShuffleSampler(256)
    history = d5.Trainer(
        executor, optimizer, splits=data, sampler=sampler, epochs=2, events=[]
    ).run()
    assert history.losses[-1] < history.losses[0]


def test_a_wrapped_module_is_trained_by_one() -> None:
    torch = d5.framework("pytorch").module
    torch.manual_seed(0)
    module = torch.nn.Linear(4, 3)
    wrapped = d5torch.from_model(module, loss=torch.nn.CrossEntropyLoss())
    step = wrapped.training_step(d5torch.AdamOptimizer(0.1))
    batch = {"input": np.ones((2, 4), "float32"), "label": np.array([0, 1])}
    first = float(step(batch)["loss"])
    assert float(step(batch)["loss"]) < first


def test_importing_them_imports_no_framework() -> None:
    code = (
        "import sys, deep500.frameworks.pytorch as a, deep500.frameworks.jax as b, "
        "deep500.frameworks.tensorflow as c\n"
        "a.MomentumOptimizer(0.1, 0.9), b.AdamOptimizer(), c.SGDOptimizer(0.1)\n"
        "print({'torch', 'jax', 'optax', 'tensorflow', 'keras'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.strip() == "set()", done.stderr


class Convolution:
    """A module whose parameters lie with their channels last, and batches for it."""

    def __init__(self) -> None:
        torch = d5.framework("pytorch").module
        torch.manual_seed(0)
        parts = torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten(), torch.nn.Linear(16, 2)
        self.module = torch.nn.Sequential(*parts).to(memory_format=torch.channels_last)
        assert not self.module[0].weight.is_contiguous()
        self.loss = torch.nn.CrossEntropyLoss()
        rng = np.random.default_rng(0)
        self.x = rng.standard_normal((5, 3, 4, 4)).astype("float32")
        self.label = rng.integers(0, 2, 5)


@pytest.mark.parametrize("optimizer", [Momentum(0.1), d5torch.MomentumOptimizer(0.1)])
def test_fused_kernels_respect_how_parameters_lie(optimizer: Any) -> None:
    """Gradients in flat buffers, and states from a checkpoint, lie in another order than such a parameter."""
    torch = d5.framework("pytorch").module
    ours, theirs = Convolution(), Convolution()
    wrapped = d5torch.from_model(ours.module, loss=ours.loss)
    step = wrapped.training_step(optimizer)
    rule = torch.optim.SGD(theirs.module.parameters(), 0.1, momentum=0.9, fused=False)
    for _ in range(3):
        step.backprop({"input": ours.x, "label": ours.label})
        wrapped.flat_gradients()
        step.update()
        step.load_state(step.state())
        rule.zero_grad()
        output = theirs.module(torch.from_numpy(theirs.x))
        theirs.loss(output, torch.from_numpy(theirs.label)).backward()
        rule.step()
    for one, other in zip(
        ours.module.parameters(), theirs.module.parameters(), strict=True
    ):
        assert torch.allclose(one, other, rtol=1e-5, atol=1e-6)
