"""A Keras model through from_model."""

from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.frameworks import framework
from deep500.optimizers import SGD, Adam

TENSORFLOW = framework("tensorflow")
if not TENSORFLOW.available():
    pytest.skip("tensorflow is not installed", allow_module_level=True)
tf: Any = TENSORFLOW.module
keras: Any = tf.keras
layers = keras.layers
CROSS_ENTROPY = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    TENSORFLOW.set_threads(1)


def network(dropout: float = 0.0) -> Any:
    keras.utils.set_random_seed(0)
    hidden = [
        layers.Dense(8),
        layers.BatchNormalization(),
        layers.ReLU(),
        layers.Dropout(dropout),
    ]
    return keras.Sequential(
        [keras.Input((6,)), *hidden, layers.Dense(3, kernel_regularizer="l2")]
    )


def batch(i: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(i)
    return {
        "input": rng.standard_normal((5, 6)).astype("float32"),
        "label": rng.integers(0, 3, 5),
    }


def by_hand(model: Any, arrays: dict[str, np.ndarray]) -> float:
    """One step of gradient descent, with what Keras adds to the loss."""
    with tf.GradientTape() as tape:
        loss = CROSS_ENTROPY(arrays["label"], model(arrays["input"], training=True))
        loss = tf.add_n([loss, *model.losses])
    variables = model.trainable_variables
    for variable, gradient in zip(
        variables, tape.gradient(loss, variables), strict=True
    ):
        variable.assign_sub(0.1 * gradient)
    return float(loss)


def test_steps_are_those_of_a_loop_by_hand() -> None:
    ours, theirs = network(), network()
    step = TENSORFLOW.from_model(ours, loss=CROSS_ENTROPY).training_step(SGD(0.1))
    for i in range(4):
        loss = float(step(batch(i))["loss"])
        assert loss == pytest.approx(by_hand(theirs, batch(i)), rel=1e-5)
    for a, b in zip(ours.get_weights(), theirs.get_weights(), strict=True):
        assert np.allclose(a, b, rtol=1e-4, atol=1e-6)
    unchanged = zip(ours.get_weights(), network().get_weights(), strict=True)
    # running statistics included
    assert not any(np.array_equal(a, b) for a, b in unchanged)


def test_halves_are_the_whole() -> None:
    whole, parts = (
        TENSORFLOW.from_model(network(), loss=CROSS_ENTROPY) for _ in range(2)
    )
    step, halves = whole.training_step(Adam()), parts.training_step(Adam())
    for i in range(3):
        step(batch(i))
        halves.backprop(batch(i))
        parts.load_flat_gradients(parts.flat_gradients())
        halves.update()
    for name, value in whole.arrays().items():
        assert np.allclose(value, parts.arrays()[name], rtol=1e-5, atol=1e-6)


def test_variables_stay_the_models_own_and_follow_training() -> None:
    model = network()
    executor = TENSORFLOW.from_model(model, loss=CROSS_ENTROPY)
    mean = executor.params["batch_normalization/moving_mean"]
    assert mean is model.layers[1].moving_mean.value
    executor.inference(batch(0))
    assert not np.any(mean)
    executor.training = False
    executor.inference_and_backprop(batch(0))
    assert not np.any(mean)
    executor.training = True
    executor.inference_and_backprop(batch(0))
    assert np.any(mean)
    executor.network.feed_tensor("dense_1/bias", np.array([1, 2, 3]))
    assert np.array_equal(model.layers[-1].bias, [1, 2, 3])
    value, gradient = executor.network.fetch_tensors(
        ["dense_1/bias", "dense_1/bias.grad"]
    )
    assert value is model.layers[-1].bias.value and gradient.shape == (3,)


def test_names_are_the_same_for_every_model_of_its_kind() -> None:
    first, second = (
        TENSORFLOW.from_model(network(), loss=CROSS_ENTROPY) for _ in range(2)
    )
    assert [*first.params] == [*second.params]
    second.load(first.arrays())
    trained = ["dense/kernel", "dense/bias", "batch_normalization/gamma"]
    trained += ["batch_normalization/beta", "dense_1/kernel", "dense_1/bias"]
    assert first.network.get_params() == trained
    assert [*first.structure.inputs] == ["input", "label"]
    assert first.structure.outputs == ["output", "loss"]


def test_a_functional_model_of_named_inputs() -> None:
    left, right = keras.Input((2,), name="left"), keras.Input((2,), name="right")
    total = layers.Add()([layers.Dense(1)(left), right])
    model = keras.Model([left, right], {"total": total, "right": right})
    executor = TENSORFLOW.from_model(
        model, loss=lambda output, label: tf.reduce_mean(output - label)
    )
    assert [*executor.structure.inputs] == ["left", "right", "label"]
    arrays = {"left": np.ones((3, 2), "f"), "right": np.ones((3, 2), "f")}
    assert {*executor.inference(arrays)} == {"total", "right"}
    executor.inference_and_backprop(arrays | {"label": np.float32(1)})
    assert executor.gradients["dense/bias"].numpy().tolist() == [1.0]


class Own(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = layers.Embedding(7, 3)
        self.unused = layers.Dense(1)

    def build(self, shape: Any) -> None:
        self.embedding.build(shape)
        self.unused.build((None, 1))

    def call(self, tokens: Any, training: bool = False) -> Any:
        return self.embedding(tokens)


def test_a_model_of_ones_own_with_sparse_gradients() -> None:
    model = Own()
    with pytest.raises(d5.Deep500Error, match="own.* has no variables yet: build it"):
        TENSORFLOW.from_model(model)
    tokens = np.array([[0, 1]])
    model(tokens)
    executor = TENSORFLOW.from_model(
        model, loss=lambda output, label: tf.reduce_sum(output)
    )
    executor.training_step(Adam())({"tokens": tokens, "label": np.zeros(1)})
    executor.inference_and_backprop({"tokens": tokens, "label": np.zeros(1)})
    assert executor.gradients["embedding/embeddings"].numpy().sum() == 6
    assert not executor.gradients["dense/kernel"].numpy().any()


def test_our_loss_is_theirs() -> None:
    ours = TENSORFLOW.from_model(network(), loss=d5.losses.CrossEntropy())
    theirs = TENSORFLOW.from_model(network(), loss=CROSS_ENTROPY)
    a, b = (one.inference_and_backprop(batch(0))["loss"] for one in (ours, theirs))
    assert np.allclose(a, b)
    for name, gradient in theirs.gradients.items():
        assert np.allclose(ours.gradients[name], gradient, atol=1e-6)


def test_dropout_draws_by_the_seed() -> None:
    def losses(seed: int) -> list[float]:
        executor = TENSORFLOW.from_model(network(0.5), loss=CROSS_ENTROPY, seed=seed)
        return [
            float(executor.inference_and_backprop(batch(0))["loss"]) for _ in range(2)
        ]

    assert losses(1) == losses(1) != losses(2) and len({*losses(1)}) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"loss": 3},
            "loss is a int: give a function of output and label, such as keras",
        ),
        ({"inputs": ["a", "b"]}, "the model takes input, and inputs names a, b"),
        (
            {"params": {}},
            "tensorflow takes a Keras model, a d5.Network or an ONNX model",
        ),
    ],
)
def test_what_cannot_be_wrapped(options: dict[str, Any], message: str) -> None:
    with pytest.raises(d5.Deep500Error, match=message):
        TENSORFLOW.from_model(network(), **options)
