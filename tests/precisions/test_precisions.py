"""Networks in low precision: what is rounded, what stays in float32, and what happens to a run."""

import numpy as np
import pytest

import deep500 as d5
from deep500.contracts.network import Network
from deep500.errors import Deep500Error, Unsupported
from deep500.training.gradient_noise import MeasureNoise, noise_of
from deep500.training.low_precision import LowPrecision
from deep500.training.trainer import Trainer

P = d5.precisions
EVERY = [
    P.BFloat16(),
    P.BFloat16(emulated=True),
    P.Float16(),
    P.Float8(loss_scale=256.0),
    P.StochasticRounding(),
    P.TernaryWeights(),
]
every = pytest.mark.parametrize("precision", EVERY, ids=lambda p: type(p).__name__)
DATA = d5.datasets.Digits().load()


def network() -> Network:
    return d5.networks.Mlp(hidden=(32,)).build((1, 8, 8), 10, seed=0)


def procedure(precision, framework="reference", optimizer=None, seed=0):
    engine = d5.framework(framework)
    precision.check(engine)
    executor = engine.from_model(precision(network()), seed=seed)
    return LowPrecision(executor, optimizer or d5.optimizers.SGD(0.1), precision)


def batch(size=16):
    return DATA["train"].batch(slice(0, size))


@every
def test_weights_and_outputs_stay_in_float32_and_the_network_as_it_was(precision):
    original = network()
    before = len(original.nodes)
    changed = precision(original)
    assert len(original.nodes) == before < len(changed.nodes)
    specs = changed.specs()
    assert {str(p.dtype) for p in changed.params.values()} == {"float32"}
    assert all(specs[name].dtype == "float32" for name in changed.outputs)
    assert (
        changed.outputs == original.outputs and changed.trainable == original.trainable
    )


@every
def test_the_gradient_is_near_that_of_float32(precision):
    """Ternary weights are another network; all others lie near, and none lies on it."""
    plain = d5.framework("reference").executor(network())
    plain.inference_and_backprop(batch())
    exact = plain.flat_gradients()["float32"].astype(np.float64)
    coarse = procedure(precision).gradient(batch())
    distance = np.linalg.norm(coarse - exact) / np.linalg.norm(exact)
    assert 0 < distance < (1.0 if isinstance(precision, P.TernaryWeights) else 0.15)


@pytest.mark.parametrize("framework", ["pytorch", "jax"])
@pytest.mark.parametrize(
    "precision",
    [P.Float8(loss_scale=256.0), P.StochasticRounding(), P.Float16()],
    ids=repr,
)
def test_frameworks_agree(precision, framework):
    if framework not in d5.available_frameworks():
        pytest.skip(f"{framework} is not installed")
    here, there = procedure(precision), procedure(precision, framework)
    losses = []
    for one in (here, there):
        steps = [
            float(one.framework.array(one.step(batch())["loss"])) for _ in range(3)
        ]
        losses.append(steps)
    np.testing.assert_allclose(losses[0], losses[1], rtol=5e-3)


def test_bfloat16_is_that_of_torch_autocast():
    torch = pytest.importorskip("torch")
    precision = P.BFloat16()
    own = procedure(precision, "pytorch")
    images = batch()
    logits = own.framework.array(own.inference(images)["logits"])
    weights = {name: torch.tensor(value) for name, value in network().params.items()}
    matrices = [value for value in weights.values() if value.ndim == 2]
    biases = [value for value in weights.values() if value.ndim == 1]
    x = torch.tensor(images["x"]).reshape(len(images["x"]), -1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for i, (w, b) in enumerate(zip(matrices, biases, strict=True)):
            x = torch.nn.functional.linear(x, w if w.shape[1] == x.shape[1] else w.T, b)
            x = torch.relu(x) if i == 0 else x
    theirs = x.float().numpy()
    assert theirs.shape == logits.shape
    np.testing.assert_allclose(logits, theirs, atol=2.0**-7 * np.abs(theirs).max())


def test_an_engine_without_the_dtype_is_refused_with_the_reason():
    class Narrow:
        name = "narrow"

        def dtype(self, name):
            raise Unsupported(f"narrow has no {name}")

    with pytest.raises(Unsupported, match="narrow has no bfloat16"):
        P.BFloat16().check(Narrow())
    P.BFloat16(emulated=True).check(Narrow())


def test_a_scaled_loss_gives_the_same_update():
    """A power of two is taken out again exactly, as long as nothing overflows or vanishes."""
    plain, scaled = (
        procedure(P.TernaryWeights()),
        procedure(P.TernaryWeights(loss_scale=1024.0)),
    )
    for one in (plain, scaled):
        one.step(batch())
    for name, value in plain.executor.arrays().items():
        np.testing.assert_allclose(
            scaled.executor.arrays()[name], value, rtol=1e-5, atol=1e-8
        )


def test_small_gradients_vanish_in_float8_without_a_loss_scale():
    """The mean over 256 examples has gradients of about 4e-4; the smallest number of e4m3 is 2e-3."""
    formats = {"backward": "float8_e4m3fn"}
    without, scaled = (
        procedure(P.Float8(**formats)),
        procedure(P.Float8(**formats, loss_scale=256.0)),
    )
    lost = [(one.gradient(batch(256)) == 0).mean() for one in (without, scaled)]
    assert lost[0] > lost[1] + 0.05


def test_steps_that_overflow_are_skipped_counted_and_the_scale_halved():
    one = procedure(P.Float16(loss_scale=2.0**40))
    before = one.executor.arrays()
    one.step(batch())
    assert (
        one.skipped_steps == 1 and one.scale == 2.0**39 and one.training_step.count == 0
    )
    for name, value in before.items():
        np.testing.assert_array_equal(one.executor.arrays()[name], value)
    for _ in range(40):
        one.step(batch())
    assert one.training_step.count == 41 - one.skipped_steps > 5
    static = procedure(P.Float16(loss_scale=2.0**40, dynamic=False))
    static.step(batch())
    assert static.skipped_steps == 1 and static.scale == 2.0**40


def test_the_scale_grows_after_enough_good_steps():
    one = procedure(P.Float16(loss_scale=8.0, patience=3))
    for _ in range(7):
        one.step(batch())
    assert one.scale == 32.0 and one.good_steps == 1


def test_weights_are_numbers_of_the_format_after_every_update():
    one = procedure(P.StochasticRounding("float8_e4m3fn"))
    for _ in range(3):
        one.step(batch())
        weights = one.executor.flat_params()["float32"]
        np.testing.assert_array_equal(
            weights, weights.astype("float8_e4m3fn").astype(np.float32)
        )


def test_updates_below_the_step_of_the_format_get_lost_unless_chance_rounds():
    """Weights of 1, updates of 2^-12: to nearest, bfloat16 never moves; by chance it moves as it should."""
    from deep500.precisions._rounding import FORMATS, rounded

    one = procedure(P.StochasticRounding())
    xp, form, n, steps = one._xp, FORMATS["bfloat16"], 4000, 64
    nearest = by_chance = np.ones((n,), np.float32)
    for step in range(steps):
        key = np.array([step, 7, 0, 1], np.int64)
        nearest = rounded(xp, nearest - np.float32(2.0**-12), form)
        by_chance = one.precision.round_weights(
            xp, by_chance - np.float32(2.0**-12), key
        )
    assert (nearest == 1).all()
    assert by_chance.mean() == pytest.approx(1 - steps * 2.0**-12, abs=5e-4)


@pytest.mark.parametrize(
    "precision",
    [P.StochasticRounding(), P.Float16(patience=3)],
    ids=["chance", "scaled"],
)
def test_a_resumed_run_ends_in_the_same_bits(precision):
    def run(epochs, start=None):
        optimizer, sampler = d5.optimizers.Momentum(0.05, 0.9), d5.ShuffleSampler(256)
        own = procedure(precision, optimizer=optimizer)
        trainer = Trainer(
            own, None, splits=DATA, sampler=sampler, epochs=epochs, events=[]
        )
        trainer.run(start)
        return trainer

    whole, half = run(4), run(2)
    resumed = run(4, half.checkpoint())
    states = [
        t.procedure.executor.arrays() | t.procedure.state() for t in (whole, resumed)
    ]
    assert states[0].keys() == states[1].keys()
    for name, value in states[0].items():
        np.testing.assert_array_equal(states[1][name], value)


def test_noise_from_known_gradients():
    exact = [np.array([1.0, 0.0]), np.array([3.0, 0.0])]
    coarse = [np.array([1.0, 0.5]), np.array([3.0, -0.5])]
    noise = noise_of(exact, coarse)
    assert (noise.minibatch, noise.rounding, noise.batches) == (2.0, 0.25, 2)
    with pytest.raises(Deep500Error, match="two minibatches"):
        noise_of(exact[:1], coarse[:1])


def test_coarser_numbers_make_more_noise_than_finer_ones():
    ratios = []
    for precision in (P.BFloat16(emulated=True), P.Float8(loss_scale=256.0)):
        event = MeasureNoise(lambda: d5.framework("reference").executor(network()))
        trainer = Trainer(
            procedure(precision),
            None,
            splits=DATA,
            sampler=d5.ShuffleSampler(128),
            epochs=1,
            events=[event],
        )
        history = trainer.run()
        assert history.counters["skipped steps"] == 0
        ratios.append(d5.metrics.RoundingNoise().value(history))
    assert 0 < ratios[0] < ratios[1] / 10 < 0.1


def test_settings_that_make_no_sense_are_refused():
    for make in (lambda: P.Float8("float9"), lambda: P.Float16(loss_scale=0.0)):
        with pytest.raises(Deep500Error):
            make()


def test_every_precision_is_tested_here():
    from deep500 import registry

    tested = {type(precision).__name__ for precision in EVERY}
    assert tested == set(registry.known("precisions"))
