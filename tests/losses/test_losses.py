"""Losses as definitions: the value is what it should be, on every framework."""

import numpy as np
import pytest

import deep500 as d5
from deep500.contracts.operator import TensorSpec


@pytest.mark.parametrize("name", ["reference", "pytorch", "onnxruntime"])
def test_cross_entropy_is_the_mean_negative_log_probability(name):
    network = d5.Network()
    network.add_input("logits", (0, 3))
    network.add_input("label", (0,), "int64")
    assert d5.losses.CrossEntropy().add(network, "logits", "label") == "loss"
    network.add_output("loss")
    logits, label = (
        np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]], np.float32),
        np.array([2, 0]),
    )
    executor = d5.framework(name).executor(network)
    found = executor.framework.array(
        executor.inference({"logits": logits, "label": label})["loss"]
    )
    probability = np.exp(logits.astype(float)) / np.exp(logits.astype(float)).sum(
        1, keepdims=True
    )
    assert found == pytest.approx(-np.log(probability[[0, 1], label]).mean(), rel=1e-6)
    swapped = executor.framework.array(
        executor.inference({"logits": logits, "label": label[::-1].copy()})["loss"]
    )
    assert swapped != pytest.approx(found)


@pytest.mark.parametrize("name", ["reference", "pytorch", "onnxruntime"])
def test_binary_cross_entropy_is_the_mean_negative_log_probability(name):
    network = d5.Network()
    network.add_output(network.add_input("score", (0, 1)))
    network = d5.losses.BinaryCrossEntropy().attach(network)
    score, label = np.array([[2.0], [-1.0], [90.0]]), np.array([[1.0], [1.0], [0.0]])
    executor = d5.framework(name).executor(network)
    inputs = {"score": score.astype("float32"), "label": label.astype("float32")}
    loss = executor.framework.array(executor.inference(inputs)["loss"])
    expected = (np.log1p(np.exp(-2)) + np.log1p(np.exp(1)) + 90) / 3
    assert loss == pytest.approx(expected, rel=1e-6)


torch_losses = {
    "Huber": lambda f, p, t: f.huber_loss(p, t, delta=0.7),
    "MeanSquaredError": lambda f, p, t: f.mse_loss(p, t),
    "MeanAbsoluteError": lambda f, p, t: f.l1_loss(p, t),
    "CrossEntropy": lambda f, p, t: f.cross_entropy(p, t, label_smoothing=0.2),
    "Hinge": lambda f, p, t: f.multi_margin_loss(p, t, margin=0.8),
    "KLDivergence": lambda f, p, t: f.kl_div(
        f.log_softmax(p, 1), t, reduction="batchmean"
    ),
    "InfoNCE": lambda f, p, t: _info_nce(f, p, t),
}
settings = {
    "Huber": {"delta": 0.7},
    "CrossEntropy": {"label_smoothing": 0.2},
    "Hinge": {"margin": 0.8},
    "InfoNCE": {"temperature": 0.3},
}


def _info_nce(functional, prediction, target):
    import torch

    similarity = functional.normalize(prediction) @ functional.normalize(target).T
    return functional.cross_entropy(similarity / 0.3, torch.arange(len(prediction)))


def _case(loss, shape):
    """A prediction and a target for it; some probabilities of a distribution are 0."""
    rng = np.random.default_rng(3)
    prediction = 2 * rng.standard_normal(shape)
    wanted = loss.target(TensorSpec(shape, "float64"))
    if wanted.dtype == "int64":
        return prediction, rng.integers(0, shape[1], wanted.shape)
    if type(loss).__name__ == "KLDivergence":
        weights = np.maximum(rng.standard_normal(shape), 0) + np.eye(*shape)
        return prediction, weights / weights.sum(1, keepdims=True)
    return prediction, rng.standard_normal(shape)


@pytest.mark.parametrize("name", torch_losses)
def test_values_and_gradients_are_those_of_torch(name):
    torch = pytest.importorskip("torch")
    loss = getattr(d5.losses, name)(**settings.get(name, {}))
    prediction, target = _case(loss, (6, 4))
    network = d5.Network()
    network.add_param("p", prediction)
    network.add_output(network.add_node("Identity", ["p"], ["prediction"]))
    executor = d5.framework("reference").executor(loss.attach(network))
    value = executor.inference_and_backprop({loss.target_name: target})["loss"]
    leaf = torch.tensor(prediction, requires_grad=True)
    expected = torch_losses[name](torch.nn.functional, leaf, torch.tensor(target))
    expected.backward()
    assert float(value) == pytest.approx(expected.item(), rel=1e-12)
    assert np.allclose(
        executor.gradients["p"], leaf.grad.numpy(), rtol=1e-10, atol=1e-14
    )


def test_smoothing_works_for_images_of_labels():
    torch = pytest.importorskip("torch")
    loss = d5.losses.CrossEntropy(label_smoothing=0.1)
    scores, labels = (
        np.random.default_rng(0).standard_normal((2, 3, 4)),
        np.ones((2, 4), np.int64),
    )
    found = loss.formula(d5.framework("reference").xp, scores, labels)
    expected = torch.nn.functional.cross_entropy(
        torch.tensor(scores), torch.tensor(labels), label_smoothing=0.1
    )
    assert float(found) == pytest.approx(float(expected), rel=1e-12)


def test_contrastive_pulls_pairs_together_and_pushes_others_apart():
    xp = d5.framework("reference").xp
    differences = np.array([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0], [0.0, 0.0]])
    labels = np.array([1, 0, 0, 0])
    found = d5.losses.Contrastive(margin=2.0).formula(xp, differences, labels)
    assert float(found) == pytest.approx((25 + 1.5**2 + 0 + 4) / 4, rel=1e-5)


def test_zero_one_is_the_share_of_wrong_answers():
    xp = d5.framework("reference").xp
    scores = np.array([[1.0, 2.0], [3.0, 0.0], [0.0, 1.0], [5.0, 4.0]])
    assert (
        float(d5.losses.ZeroOne().formula(xp, scores, np.array([1, 1, 1, 0]))) == 0.25
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: d5.losses.Huber(0.0), "delta of Huber is 0.0: give a number above 0"),
        (lambda: d5.losses.CrossEntropy(1.0), "label_smoothing of CrossEntropy is 1.0"),
    ],
)
def test_senseless_settings_are_refused(make, message):
    with pytest.raises(d5.Deep500Error, match=message):
        make()


def test_a_recipe_names_a_loss_and_a_loss_for_evaluation_is_refused():
    fixed = {
        "model": d5.networks.Mlp((8,)),
        "dataset": "digits",
        "epochs": 1,
        "loss": "CrossEntropy",
        "loss_kwargs": {"label_smoothing": 0.1},
    }
    mutable = {
        "batch_size": 256,
        "executor": "reference",
        "optimizer": d5.optimizers.SGD(0.1),
    }
    metrics = [(d5.metrics.FinalLoss(), None)]
    outcome = d5.run_recipe(fixed, mutable, metrics, tier="tiny", seeds=1)
    assert outcome.derived.metrics[0].median > 0
    wrong = {key: value for key, value in fixed.items() if key != "loss_kwargs"}
    with pytest.raises(d5.Deep500Error, match="ZeroOne is for evaluation only"):
        d5.run_recipe(
            wrong | {"loss": "ZeroOne"}, mutable, metrics, tier="tiny", seeds=1
        )
