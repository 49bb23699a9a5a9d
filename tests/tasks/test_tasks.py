"""Each task against values worked out by hand or by NumPy, and trained for real on two frameworks."""

import math
from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.contracts.dataset import Split
from deep500.contracts.metric import History
from deep500.errors import Deep500Error
from deep500.tasks import Classification, NextToken, Reconstruction, Regression
from deep500.training.events import TargetReached

both = pytest.mark.parametrize("name", ["reference", "pytorch"])


def qualities(
    task: d5.Task, outputs: dict[str, np.ndarray], batch: dict[str, Any]
) -> dict:
    means = {
        name: float(np.mean(v)) for name, v in task.measure(outputs, batch).items()
    }
    return task.evaluate(means)


def test_classification_counts_right_answers() -> None:
    logits = np.array([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7], [np.nan, 0.0]])
    found = qualities(
        Classification(), {"logits": logits}, {"label": np.array([1, 0, 0, 0])}
    )
    assert found == {"accuracy": 50.0}


def test_regression_agrees_with_numpy() -> None:
    rng = np.random.default_rng(0)
    target, prediction = rng.standard_normal((2, 50, 1)) + 3
    found = qualities(Regression(), {"prediction": prediction}, {"target": target})
    assert found["mean squared error"] == pytest.approx(
        np.mean((prediction - target) ** 2)
    )
    assert found["mean absolute error"] == pytest.approx(
        np.mean(np.abs(prediction - target))
    )
    correlation_free = 1 - np.sum((prediction - target) ** 2) / np.sum(
        (target - target.mean()) ** 2
    )
    assert found["R2"] == pytest.approx(correlation_free)
    constant = qualities(
        Regression(), {"prediction": target}, {"target": np.ones((50, 1))}
    )
    assert math.isnan(constant["R2"])


def test_reconstruction_compares_with_the_input_in_any_shape() -> None:
    x = np.arange(24.0).reshape(2, 3, 2, 2)
    found = qualities(
        Reconstruction(), {"reconstruction": x.reshape(2, -1) + 2}, {"x": x}
    )
    assert found == {"mean squared error": 4.0}


def test_the_perplexity_of_a_uniform_guess_is_the_number_of_tokens() -> None:
    tokens = np.array([[0, 1, 2, 6]])
    found = qualities(NextToken(), {"logits": np.zeros((1, 4, 7))}, {"next": tokens})
    assert found["perplexity"] == pytest.approx(7)
    assert found["cross-entropy"] == pytest.approx(math.log(7))
    assert found["accuracy"] == 25.0  # of equal numbers the first is taken
    sure = np.where(np.eye(7)[tokens] > 0, 800.0, 0.0)
    assert (
        qualities(NextToken(), {"logits": sure}, {"next": tokens})["perplexity"] == 1.0
    )
    wrong = qualities(NextToken(), {"logits": sure}, {"next": np.zeros_like(tokens)})
    assert wrong["cross-entropy"] == pytest.approx(600) and wrong["perplexity"] > 1e250


def train(
    name: str, network: d5.Network, task: Any, splits: dict, **how: Any
) -> History:
    d5.framework(name).set_threads(1)
    executor = d5.framework(name).from_model(network)
    settings = {"epochs": 8, **how}
    adam = d5.optimizers.Adam(0.01)
    return d5.Trainer(
        executor,
        adam,
        splits=splits,
        sampler=d5.ShuffleSampler(32, seed=3),
        task=task,
        **settings,
    ).run()


def first_and_last(history: History, quality: str) -> tuple[float, float]:
    first, last = history.evaluations[0], history.evaluations[-1]
    return first["validation"][quality], last["test"][quality]


@both
def test_digits_are_classified(name: str) -> None:
    splits = d5.datasets.Digits().load()
    network = d5.networks.Mlp((32,)).for_task(Classification(), splits["train"])
    assert network.outputs == ["logits"]  # the loss is the task's
    history = train(name, network, None, splits, epochs=4)
    assert history.evaluations[-1]["test"]["accuracy"] > 85


def houses() -> dict[str, Split]:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((400, 3)).astype(np.float32)
    y = (x @ [[2.0], [-1.0], [0.5]] + 0.5 + 0.1 * rng.standard_normal((400, 1))).astype(
        np.float32
    )
    cuts = {
        "train": slice(0, 240),
        "validation": slice(240, 320),
        "test": slice(320, None),
    }
    return {
        name: Split({"x": x[rows], "target": y[rows]}) for name, rows in cuts.items()
    }


@both
def test_a_linear_rule_is_found(name: str) -> None:
    splits = houses()
    network = d5.networks.Mlp(()).for_task(Regression(), splits["train"])
    history = train(name, network, "regression", splits, epochs=60)
    assert history.evaluations[-1]["test"]["R2"] > 0.99
    worse, better = first_and_last(history, "mean absolute error")
    assert better < 0.1 < worse  # the noise alone has 0.08


@both
@pytest.mark.parametrize("shape", [(1, 8, 8), (64,)])
def test_digits_are_reconstructed(name: str, shape: tuple[int, ...]) -> None:
    """The prediction is a vector, whatever the shape of the input."""
    digits = d5.datasets.Digits().load()
    splits = {
        n: Split({"x": s.arrays["x"].reshape(-1, *shape)}) for n, s in digits.items()
    }
    network = d5.networks.Mlp((64, 16, 64)).for_task(Reconstruction(), splits["train"])
    history = train(name, network, Reconstruction, splits, epochs=12)
    worse, better = first_and_last(history, "mean squared error")
    variance = np.mean(np.var(splits["train"].arrays["x"], axis=0))
    # the mean picture alone reaches the variance
    assert better < 0.6 * worse and better < variance / 2
    assert history.losses[-1] == pytest.approx(better, rel=0.3)


def sentences() -> dict[str, Split]:
    """Windows of a text in which a letter decides its successor, but for the space."""
    text = "the cat and the dog sat on the mat " * 40
    letters = sorted(set(text))
    codes = np.array([letters.index(letter) for letter in text])
    windows = np.lib.stride_tricks.sliding_window_view(codes, 9)[::3]
    cuts = {
        "train": slice(0, 300),
        "validation": slice(300, 380),
        "test": slice(380, None),
    }
    return {
        name: Split(
            {"tokens": windows[rows, :-1].copy(), "next": windows[rows, 1:].copy()}
        )
        for name, rows in cuts.items()
    }


class Bigrams(d5.Model):
    """An embedding of every token and a dense layer: what follows a token, whatever came before."""

    width: int = 16

    def build(self, shape: Any, outputs: int, seed: int = 0) -> d5.Network:
        rng, network = np.random.default_rng(seed), d5.Network("bigrams")
        network.add_input("tokens", (0, *shape), "int64")
        for name, size in {
            "embedding": (outputs, self.width),
            "w": (self.width, outputs),
        }.items():
            network.add_param(name, (rng.standard_normal(size) / 4).astype(np.float32))
        network.add_node("Gather", ["embedding", "tokens"], ["embedded"])
        network.add_output(network.add_node("MatMul", ["embedded", "w"], ["logits"]))
        return network


@both
def test_letters_are_guessed(name: str) -> None:
    splits = sentences()
    network = Bigrams().for_task(NextToken(), splits["train"])
    history = train(name, network, NextToken(), splits, epochs=15)
    worse, better = first_and_last(history, "perplexity")
    counted = closed_form_perplexity(splits)
    assert counted <= better < 1.15 * counted < worse


def closed_form_perplexity(splits: dict[str, Split]) -> float:
    """The least that a table of pairs can reach on the test data."""
    test = splits["test"].arrays
    counts = np.zeros((20, 20))
    np.add.at(counts, (test["tokens"].ravel(), test["next"].ravel()), 1)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    surprise = -np.log(share[test["tokens"].ravel(), test["next"].ravel()])
    return math.exp(surprise.mean())


def test_tokens_beyond_the_vocabulary_are_refused() -> None:
    splits = sentences()
    network = Bigrams().build((8,), 5)
    few = Split({name: values % 5 for name, values in splits["train"].arrays.items()})
    with pytest.raises(
        Deep500Error, match="of the split 'validation' goes from 0 to .* has 5 tokens"
    ):
        train("reference", network, NextToken(), splits | {"train": few})


def test_a_run_stops_at_a_target_of_any_direction() -> None:
    splits = houses()
    network = d5.networks.Mlp(()).for_task(Regression(), splits["train"])
    stop = TargetReached(0.5, "mean absolute error")
    history = train(
        "reference", network, Regression(), splits, epochs=60, events=[stop]
    )
    errors = [e["validation"]["mean absolute error"] for e in history.evaluations]
    assert len(errors) < 60 and errors[-1] <= 0.5 < errors[-2]
    with pytest.raises(Deep500Error, match="no quality of the task is named 'speed'"):
        train(
            "reference",
            network,
            Regression(),
            splits,
            events=[TargetReached(1, "speed")],
        )


def test_what_is_no_task_is_refused() -> None:
    splits = houses()
    network = d5.networks.Mlp(()).for_task(Regression(), splits["train"])
    with pytest.raises(
        Deep500Error, match="no task is named 'Regresion'. Did you mean 'Regression'"
    ):
        train("reference", network, "Regresion", splits)
    with pytest.raises(
        Deep500Error, match="a task is a d5.Task or the name of one, not 3"
    ):
        train("reference", network, 3, splits)
