"""Modifiers and schedules: what they do, on every framework, and that a resumed run gives the same bits."""

from typing import Any

import numpy as np
import pytest
import torch

import deep500 as d5
from deep500.check.optimizers.problems import problems
from deep500.check.optimizers.stepping import trajectory
from deep500.optimizers import (
    SGD,
    Accumulate,
    Adam,
    AdamW,
    ClipByNorm,
    ClipByValue,
    Group,
    Momentum,
    Muon,
    WeightDecay,
)
from deep500.schedules import (
    Constant,
    Cosine,
    Exponential,
    Piecewise,
    StepDecay,
    WarmUp,
)
from deep500.training.given_gradients import batch_of, fed_executor

FRAMEWORKS = ["reference", "pytorch", "jax", "tensorflow", "onnxruntime"]
COMPOSED = {
    "clip by norm": Adam(1e-2) | ClipByNorm(0.5),
    "clip by value": Momentum(0.1) | ClipByValue(0.2),
    "decay and group": SGD(0.1) | WeightDecay(0.1) | Group("*bias", Adam(0.01)),
    "accumulate": Adam(WarmUp(1e-2, 3)) | ClipByNorm(0.5) | Accumulate(2),
    "no decay for biases": AdamW(1e-2) | Group("*bias", AdamW(1e-2, weight_decay=0.0)),
    "schedule": Momentum(Cosine(0.1, 6, 0.01)),
    "natives and formulas": Muon(0.01) | Group("*bias", Momentum(0.1)),
}
RNG = np.random.default_rng(0)
START = {
    "layer.weight": RNG.standard_normal((4, 3)),
    "layer.bias": RNG.standard_normal(4),
}


def gradients(steps: int) -> list[dict[str, np.ndarray]]:
    return [
        {n: RNG2.standard_normal(v.shape) for n, v in START.items()}
        for _ in range(steps)
    ]


RNG2 = np.random.default_rng(1)
GRADIENTS = gradients(6)


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> None:
    d5.framework("pytorch").set_threads(1)


@pytest.mark.parametrize("name", FRAMEWORKS[1:])
@pytest.mark.parametrize("which", COMPOSED)
def test_all_frameworks_agree(which: str, name: str) -> None:
    optimizer = COMPOSED[which]
    expected = trajectory("reference", optimizer, START, GRADIENTS, "float64")
    found = trajectory(name, optimizer, START, GRADIENTS, "float64")
    for ours, theirs in zip(found, expected, strict=True):
        for param, value in theirs.items():
            np.testing.assert_allclose(ours[param], value, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", FRAMEWORKS)
@pytest.mark.parametrize("which", ["accumulate", "decay and group"])
def test_a_resumed_run_gives_the_same_bits(which: str, name: str) -> None:
    batches = [batch_of(grads, "float32") for grads in GRADIENTS]
    whole = fed_executor(name, START, "float32")
    step = whole.training_step(COMPOSED[which])
    for batch in batches[:3]:
        step(batch)
    state, params = step.state(), whole.arrays()
    for batch in batches[3:]:
        step(batch)
    resumed = fed_executor(name, params, "float32")
    again = resumed.training_step(COMPOSED[which])
    again.load_state(state)
    for batch in batches[3:]:
        again(batch)
    for param, value in whole.arrays().items():
        assert np.array_equal(value, resumed.arrays()[param])


def test_clipping_by_norm_is_torchs() -> None:
    params = {name: torch.tensor(v, requires_grad=True) for name, v in START.items()}
    optimizer = torch.optim.SGD([*params.values()], 0.1)
    for grads in GRADIENTS:
        for name, param in params.items():
            param.grad = torch.tensor(grads[name])
        torch.nn.utils.clip_grad_norm_([*params.values()], 0.5)
        optimizer.step()
    found = trajectory(
        "reference", SGD(0.1) | ClipByNorm(0.5), START, GRADIENTS, "float64"
    )[-1]
    for name, param in params.items():
        np.testing.assert_allclose(found[name], param.detach().numpy(), rtol=1e-12)


def test_weight_decay_is_torchs() -> None:
    params = {name: torch.tensor(v, requires_grad=True) for name, v in START.items()}
    optimizer = torch.optim.SGD(
        [*params.values()], 0.1, momentum=0.9, weight_decay=0.01
    )
    for grads in GRADIENTS:
        for name, param in params.items():
            param.grad = torch.tensor(grads[name])
        optimizer.step()
    ours = Momentum(0.1, 0.9) | WeightDecay(0.01)
    found = trajectory("reference", ours, START, GRADIENTS, "float64")[-1]
    for name, param in params.items():
        np.testing.assert_allclose(found[name], param.detach().numpy(), rtol=1e-12)


def test_accumulation_is_a_larger_batch() -> None:
    pairs = zip(GRADIENTS[::2], GRADIENTS[1::2], strict=True)
    means = [{name: (a[name] + b[name]) / 2 for name in a} for a, b in pairs]
    whole = trajectory("reference", Adam(0.01), START, means, "float64")
    parts = trajectory(
        "reference", Adam(0.01) | Accumulate(2), START, GRADIENTS, "float64"
    )
    for step, expected in enumerate(whole):
        for name, value in expected.items():
            np.testing.assert_allclose(parts[2 * step + 1][name], value, rtol=1e-12)
            before = parts[2 * step - 1][name] if step else START[name]
            assert np.array_equal(parts[2 * step][name], before)


def test_groups_are_chosen_by_name() -> None:
    optimizer = SGD(1.0) | Group("*bias", SGD(0.0)) | Group("layer.w*", SGD(0.5))
    [found] = trajectory("reference", optimizer, START, GRADIENTS[:1], "float64")
    assert np.array_equal(found["layer.bias"], START["layer.bias"])
    moved = START["layer.weight"] - 0.5 * GRADIENTS[0]["layer.weight"]
    np.testing.assert_allclose(found["layer.weight"], moved)
    only = SGD(1.0) | WeightDecay(1.0, only="*weight")
    zeros = [{name: np.zeros_like(v) for name, v in START.items()}]
    [decayed] = trajectory("reference", only, START, zeros, "float64")
    assert np.array_equal(decayed["layer.bias"], START["layer.bias"])
    assert not decayed["layer.weight"].any()


def test_a_modifier_twice_and_other_mistakes_are_refused() -> None:
    executor = fed_executor("reference", START, "float32")
    with pytest.raises(d5.Deep500Error, match="apply it only once"):
        executor.training_step(SGD(0.1) | Accumulate(2) | Accumulate(2))
    with pytest.raises(d5.Deep500Error, match="limit of ClipByNorm is -1"):
        ClipByNorm(-1.0)
    with pytest.raises(d5.Deep500Error, match="steps of Accumulate is 0"):
        Accumulate(0)
    assert Group("*", SGD) == Group("*", SGD())  # a class with defaults is made
    with pytest.raises(d5.Deep500Error, match="optimizer of Group is 3"):
        Group("*", 3)
    with pytest.raises(TypeError):
        _ = SGD(0.1) | 3
    with pytest.raises(
        d5.Deep500Error, match="one value more than there are boundaries"
    ):
        Piecewise((1, 2), (0.1, 0.2))


SCHEDULERS = torch.optim.lr_scheduler
RATES: list[tuple[Any, Any]] = [
    (Constant(0.3), lambda o: SCHEDULERS.LambdaLR(o, lambda epoch: 1.0)),
    (StepDecay(0.3, 7, 0.5), lambda o: SCHEDULERS.StepLR(o, 7, 0.5)),
    (Exponential(0.3, 0.97), lambda o: SCHEDULERS.ExponentialLR(o, 0.97)),
    (Cosine(0.3, 50, 0.01), lambda o: SCHEDULERS.CosineAnnealingLR(o, 50, 0.01)),
    (
        WarmUp(0.3, 10),
        lambda o: SCHEDULERS.LambdaLR(o, lambda epoch: min((epoch + 1) / 10, 1)),
    ),
    (
        Piecewise((10, 20), (0.3, 0.03, 0.003)),
        lambda o: SCHEDULERS.MultiStepLR(o, [10, 20], 0.1),
    ),
]


@pytest.mark.parametrize(("schedule", "make"), RATES, ids=lambda s: type(s).__name__)
def test_schedules_are_those_of_torch_from_the_first_step_on(
    schedule: Any, make: Any
) -> None:
    param = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.SGD([param], 0.3)
    scheduler = make(optimizer)
    for step in range(1, 41):
        rate = optimizer.param_groups[0]["lr"]
        np.testing.assert_allclose(schedule.number(step), rate, rtol=1e-12)
        optimizer.step()
        scheduler.step()


@pytest.mark.parametrize("name", FRAMEWORKS)
@pytest.mark.parametrize(
    "schedule", [pair[0] for pair in RATES], ids=lambda s: type(s).__name__
)
def test_the_first_step_has_its_rate(schedule: Any, name: str) -> None:
    """In 2019, schedules were ignored in the first epoch."""
    [found] = trajectory(name, SGD(schedule), START, GRADIENTS[:1], "float64")
    for param, start in START.items():
        expected = start - schedule.number(1) * GRADIENTS[0][param]
        np.testing.assert_allclose(found[param], expected, rtol=1e-12)


def test_a_schedule_compiles_once() -> None:
    jax = d5.framework("jax").module
    executor = fed_executor("jax", START, "float32")
    step = executor.training_step(Momentum(Cosine(0.1, 100)))
    step(batch_of(GRADIENTS[0], "float32"))
    with jax.log_compiles(), pytest.MonkeyPatch.context() as patch:
        compiled: list[str] = []
        import logging

        class Listen(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                compiled.append(record.getMessage())

        logger = logging.getLogger("jax")
        handler = Listen()
        logger.addHandler(handler)
        patch.setattr(logger, "propagate", False)
        try:
            for grads in GRADIENTS[1:]:
                step(batch_of(grads, "float32"))
        finally:
            logger.removeHandler(handler)
    assert not [line for line in compiled if "Compiling" in line]


def test_problems_are_drawn_by_their_seed() -> None:
    first, again = problems(3), problems(3)
    for one, other in zip(first, again, strict=True):
        for name, value in one.gradient(one.start, 2).items():
            assert np.array_equal(value, other.gradient(other.start, 2)[name])
