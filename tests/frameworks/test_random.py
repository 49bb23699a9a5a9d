"""Networks that draw random numbers: the same ones on every framework, new ones in every step, none in inference."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from deep500.contracts.executor import Executor
from deep500.contracts.network import Network
from deep500.errors import Deep500Error
from deep500.frameworks import available_frameworks, framework
from deep500.operators.dropout import Dropout
from deep500.optimizers.adam import Adam

RATIO = 0.4
COMPILED = {"jax", "tensorflow", "onnxruntime"}
each = pytest.mark.parametrize("name", available_frameworks())
patiently = pytest.mark.parametrize(
    "name",
    [  # building a network takes these seconds
        pytest.param(name, marks=[pytest.mark.slow] * (name in COMPILED))
        for name in available_frameworks()
    ],
)


def network(seed: int | None = 7, ratio: float = RATIO) -> Network:
    """A perceptron with two layers of Dropout; the second one's mask is an output."""
    draw, net = np.random.default_rng(1), Network("dropout")
    x, label = net.add_input("x", (0, 5)), net.add_input("label", (0,), "int64")
    for i, (n, m) in enumerate([(5, 16), (16, 12), (12, 3)]):
        weight = net.add_param(
            f"w{i}", draw.normal(0, n**-0.5, (n, m)).astype("float32")
        )
        x = net.add_node("MatMul", (x, weight), [f"h{i}" if i < 2 else "logits"])
        if i < 2:
            inputs: Any = (net.add_node("Relu", (x,), [f"relu{i}"]), ratio, True)
            x = net.add_node(
                Dropout(seed=seed), inputs, [f"y{i}", f"mask{i}"], name=f"drop{i}"
            )
    net.add_node("SoftmaxCrossEntropyLoss", ("logits", label), ["loss"])
    for output in ("loss", "logits", "mask0", "mask1"):
        net.add_output(output)
    return net


def batches(count: int) -> Iterator[dict[str, np.ndarray]]:
    draw = np.random.default_rng(2)
    for _ in range(count):
        yield {
            "x": draw.normal(size=(8, 5)).astype("float32"),
            "label": draw.integers(0, 3, 8),
        }


def trained(executor: Executor, steps: int = 5) -> tuple[list[float], list[np.ndarray]]:
    step, array = (
        executor.training_step(Adam(learning_rate=0.05)),
        executor.framework.array,
    )
    losses, masks = [], []
    for batch in batches(steps):
        found = step(batch)
        losses.append(float(array(found["loss"])))
        masks.append(np.array(array(found["mask1"])))
    return losses, masks


@each
def test_every_framework_draws_the_same_masks_and_learns_the_same(name: str) -> None:
    right, masks = trained(framework("reference").executor(network()))
    losses, drawn = trained(framework(name).executor(network()))
    assert np.allclose(losses, right, rtol=2e-5, atol=0)
    for mask, other in zip(masks, drawn, strict=True):
        assert np.array_equal(mask, other)


@patiently
def test_inference_draws_nothing_and_each_step_draws_anew(name: str) -> None:
    executor = framework(name).executor(network())
    array, (batch,) = executor.framework.array, batches(1)
    found = executor.inference(batch)
    assert array(found["mask0"]).all() and array(found["mask1"]).all()
    plain = framework("reference").executor(network(ratio=0.0)).inference(batch)
    assert np.allclose(array(found["logits"]), plain["logits"], rtol=1e-5, atol=1e-6)
    first, again, second = (
        array(executor.inference_and_backprop(batch, step=k)["mask0"]).copy()
        for k in (0, 0, 1)
    )
    assert np.array_equal(first, again) and not np.array_equal(first, second)


@patiently
def test_the_gradient_is_that_of_what_was_kept(name: str) -> None:
    executor, right = (
        framework(name).executor(network()),
        framework("reference").executor(network()),
    )
    (batch,) = batches(1)
    executor.inference_and_backprop(batch, step=3)
    right.inference_and_backprop(batch, step=3)
    for param, gradient in right.gradients.items():
        assert np.allclose(
            executor.framework.array(executor.gradients[param]),
            gradient,
            rtol=1e-4,
            atol=1e-6,
        )
    # what this test must not take for the same
    right.inference_and_backprop(batch, step=4)
    assert not np.allclose(
        executor.framework.array(executor.gradients["w1"]),
        right.gradients["w1"],
        atol=1e-3,
    )


@patiently
def test_a_run_that_is_taken_up_again_goes_on_as_if_it_had_never_stopped(
    name: str,
) -> None:
    whole = framework(name).executor(network())
    trained(whole)
    first, second = (
        framework(name).executor(network()),
        framework(name).executor(network()),
    )
    step, array = first.training_step(Adam(learning_rate=0.05)), first.framework.array
    all_batches = list(batches(5))
    for batch in all_batches[:2]:
        step(batch)
    second.load(first.arrays())
    later = second.training_step(Adam(learning_rate=0.05))
    later.load_state(step.state())
    for batch in all_batches[2:]:
        later(batch)
    for param, value in whole.params.items():
        assert np.array_equal(array(value), array(second.params[param])), param


def test_layers_and_seeds_draw_differently() -> None:
    (batch,) = batches(1)
    executors = [
        framework("reference").executor(network(seed)) for seed in (None, 1, 1, 2)
    ]
    masks = [executor.inference_and_backprop(batch) for executor in executors]
    assert np.array_equal(masks[1]["mask1"], masks[2]["mask1"])
    for a, b in ((masks[0], masks[1]), (masks[1], masks[3])):
        assert not np.array_equal(a["mask1"], b["mask1"])
    assert not np.array_equal(masks[0]["mask0"][:, :12], masks[0]["mask1"])


def test_losses_without_dropout_are_others() -> None:
    dropped, _ = trained(framework("reference").executor(network()))
    kept, _ = trained(framework("reference").executor(network(ratio=0.0)))
    assert not np.allclose(dropped, kept, rtol=1e-2)


def test_nothing_is_built_again_for_another_step() -> None:
    executor: Any = framework("pytorch").executor(network())
    trained(executor, 3)
    assert len(executor.programs) == 1
    if framework("jax").available():
        step: Any = framework("jax").executor(network()).training_step(Adam())
        for batch in batches(3):
            step(batch)
        assert step.programs[None, True][0]._cache_size() == 1


@each
def test_an_operator_draws_by_its_key_or_by_its_seed(name: str) -> None:
    fw, ones = framework(name), np.ones((6, 7), "float32")
    inputs = [ones, RATIO, True]
    y, mask = fw.evaluate(Dropout(), inputs, key=(5, 9))
    right = framework("reference").evaluate(Dropout(), inputs, key=(5, 9))
    assert np.array_equal(mask, right[1]) and np.allclose(y, mask / (1 - RATIO))
    gradient, *rest = fw.gradient(Dropout(), inputs, [ones, None], key=(5, 9))
    assert (
        gradient is not None
        and np.array_equal(gradient != 0, mask)
        and rest == [None, None]
    )
    assert not np.array_equal(fw.evaluate(Dropout(), inputs, key=(5, 10))[1], mask)
    by_seed = [fw.evaluate(Dropout(seed=seed), inputs)[1] for seed in (1, 1, 2)]
    assert np.array_equal(by_seed[0], by_seed[1]) and not np.array_equal(
        by_seed[0], by_seed[2]
    )


def test_a_key_where_nothing_is_drawn_is_refused() -> None:
    from deep500.operators.relu import Relu

    with pytest.raises(Deep500Error, match="Relu draws no random numbers"):
        framework("reference").evaluate(Relu(), [np.ones(3)], key=(1, 2))


def test_the_recorded_backward_pass_takes_the_keys_as_inputs() -> None:
    (batch,) = batches(1)
    net = network()
    model = net.backward_network("loss", batch=8).to_onnx()
    session = framework("onnxruntime").session(model)  # type: ignore[attr-defined]
    keys = {
        f"deep500:key:{n.name}": np.array(n.operator.key(n.name, 2))
        for n in net.nodes
        if n.operator.random
    }
    names = [o.name for o in session.get_outputs()]
    found = dict(
        zip(names, session.run(names, {**batch, **net.params, **keys}), strict=True)
    )
    right = framework("reference").executor(net)
    assert np.allclose(
        found["loss"], right.inference_and_backprop(batch, step=2)["loss"]
    )
    assert np.allclose(found["w0.grad"], right.gradients["w0"], atol=1e-6)


def test_a_network_with_dropout_is_written_and_read_again(tmp_path: Any) -> None:
    net, (batch,) = network(), batches(1)
    net.to_onnx(tmp_path / "net.onnx")
    again = Network.from_onnx(tmp_path / "net.onnx")
    right, found = (
        framework("reference").executor(n).inference_and_backprop(batch, step=1)
        for n in (net, again)
    )
    assert (
        np.array_equal(right["mask1"], found["mask1"])
        and right["loss"] == found["loss"]
    )
    assert not found["mask1"].all()
