import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from deep500.contracts.dataset import Split
from deep500.datasets.digits import Digits
from deep500.errors import Deep500Error
from deep500.samplers.ordered_sampler import OrderedSampler
from deep500.samplers.shuffle_sampler import ShuffleSampler
from deep500.tasks import Classification
from deep500.training.evaluation import evaluate
from deep500.training.events import Event
from deep500.training.trainer import Trainer

from .softmax_regression import PAIRS, Inertia, SoftmaxRegression

Make = Callable[..., Trainer]


def by_hand(
    pair: str, splits: dict[str, Split], epochs: int
) -> tuple[list[float], dict[str, np.ndarray]]:
    """The same training, written out: losses per step and final parameters."""
    executor, optimizer = PAIRS[pair]()
    step, train, losses = executor.training_step(optimizer), splits["train"].arrays, []
    for epoch in range(epochs):
        for rows in ShuffleSampler(16, seed=7).epoch(len(splits["train"]), epoch):
            losses.append(
                float(
                    step({"x": train["x"][rows], "label": train["label"][rows]})["loss"]
                )
            )
    return losses, executor.arrays()


@pytest.mark.parametrize("pair", PAIRS)
def test_the_trainer_does_what_a_loop_by_hand_does(
    trainer: Make, splits: dict[str, Split], pair: str
) -> None:
    run = trainer(pair)
    history, (losses, params) = run.run(), by_hand(pair, splits, 4)
    assert history.losses == losses
    assert all(
        np.array_equal(value, params[name])
        for name, value in run.executor.arrays().items()
    )
    assert history.losses != by_hand(pair, splits, 5)[0]


@pytest.mark.parametrize("pair", PAIRS)
def test_a_history_adds_up(trainer: Make, pair: str) -> None:
    history = trainer(pair).run()
    # 150 examples: 9 batches of 16, one of 6
    assert (history.seed, history.steps, history.samples) == (7, 40, 600)
    assert (
        len(history.losses) == len(history.step_seconds) == 40
        and min(history.step_seconds) > 0
    )
    assert [e["epoch"] for e in history.evaluations] == [1, 2, 3, 4]
    assert [e["step"] for e in history.evaluations] == [10, 20, 30, 40]
    assert [e["test"] is None for e in history.evaluations] == [True, True, True, False]
    for e in history.evaluations:
        assert (
            e["seconds"] == math.fsum(history.step_seconds[: e["step"]])
            and 0 <= e["validation"]["accuracy"] <= 100
        )


def test_the_network_learns(trainer: Make) -> None:
    history = trainer("reference", splits=Digits().load(), epochs=8).run()
    assert np.mean(history.losses[-10:]) < np.mean(history.losses[:10]) / 2
    assert history.evaluations[-1]["test"]["accuracy"] > 80  # by chance: 10


def test_a_second_run_goes_on_from_the_parameters_and_starts_a_new_history(
    trainer: Make,
) -> None:
    run = trainer(epochs=2)
    first, second = run.run(), run.run()
    assert second.steps == first.steps and second.losses != first.losses
    assert first.losses == trainer(epochs=2).run().losses


def test_accuracy_counts_every_example_once(splits: dict[str, Split]) -> None:
    executor = SoftmaxRegression()
    split = Split(
        {name: values[:37] for name, values in splits["train"].arrays.items()}
    )
    logits = executor.inference(split.arrays)["logits"]
    correct = [
        int(np.argmax(row)) == label
        for row, label in zip(logits, split.arrays["label"], strict=True)
    ]
    for batch_size in (1, 8, 37, 100):
        qualities = evaluate(executor, Classification(), split, batch_size)
        assert qualities == {"accuracy": 100 * sum(correct) / 37}


def test_an_answer_that_is_not_a_number_is_wrong(splits: dict[str, Split]) -> None:
    executor = SoftmaxRegression()
    executor.params["w"] = np.full_like(executor.params["w"], np.nan)
    with np.errstate(invalid="ignore"):
        assert evaluate(executor, Classification(), splits["test"], 16) == {
            "accuracy": 0
        }


def test_training_uses_inference_for_evaluation_only(
    trainer: Make, splits: dict[str, Split]
) -> None:
    """Parameters change in steps alone, and data of validation and test never reach a step."""
    run = trainer(epochs=1)
    seen: list[np.ndarray] = []
    original = run.executor.inference_and_backprop

    def watched(inputs: Any, *more: Any) -> Any:
        seen.append(inputs["x"])
        return original(inputs, *more)

    run.executor.inference_and_backprop = watched  # type: ignore[assignment]
    run.run()
    rows = {x.tobytes() for x in np.concatenate(seen)}
    assert rows == {x.tobytes() for x in splits["train"].arrays["x"]}


def test_losses_are_converted_once_per_epoch(
    trainer: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within an epoch no step waits for a conversion."""
    log: list[str] = []

    class Log(Event):
        def after_step(self, trainer: Trainer, outputs: dict[str, Any]) -> None:
            log.append("step")

    run = trainer(epochs=1, events=[Log()])
    array = run.executor.framework.array
    monkeypatch.setattr(
        run.executor.framework, "array", lambda t: log.append("array") or array(t)
    )
    run.run()
    # what was built before the first step is not looked at
    last = len(log) - log[::-1].index("step")
    assert log[last - 10 : last] == ["step"] * 10 and log[last:].count("array") >= 10


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"epochs": 0}, "epochs is 0: a run needs at least 1"),
        (
            {"loss": "cost"},
            "the network has no output 'cost'; its outputs are: loss, logits",
        ),
        ({"splits": {}}, "the data have no split 'train' with examples in it"),
        (
            {"splits": {"train": Split({"x": np.zeros((0, 1, 8, 8))})}},
            "the data have no split 'train'.*train \\(0\\)",
        ),
        (
            {
                "splits": dict.fromkeys(
                    ["train", "validation", "test"],
                    Split({"x": np.zeros((2, 1, 8, 8), np.float32)}),
                )
            },
            "the task Classification needs 'label', and the split 'train' has: x",
        ),
    ],
)
def test_bad_input_is_refused_before_anything_runs(
    trainer: Make, settings: dict[str, Any], text: str
) -> None:
    with pytest.raises(Deep500Error, match=text):
        trainer(**settings)


def test_a_network_without_logits_is_refused(trainer: Make) -> None:
    executor = SoftmaxRegression()
    executor.structure.outputs = ["loss"]
    with pytest.raises(Deep500Error, match="the network has no output 'logits'"):
        trainer(executor=executor, optimizer=Inertia())


def test_the_sampler_decides_the_order(trainer: Make) -> None:
    sampler = ShuffleSampler(16, seed=7)
    assert (
        trainer(sampler=replace(sampler, seed=8)).run().losses
        != trainer(sampler=sampler).run().losses
    )
    assert (
        trainer(sampler=OrderedSampler(16, seed=8)).run().losses
        == trainer(sampler=OrderedSampler(16)).run().losses
    )


def test_labels_beyond_the_classes_are_refused() -> None:
    import deep500 as d5

    network = d5.networks.Mlp().build((1, 8, 8), 5, seed=0)
    executor = d5.framework("reference").executor(network)
    with pytest.raises(Deep500Error, match="the network has 5 classes"):
        Trainer(
            executor,
            d5.optimizers.SGD(0.1),
            splits=d5.datasets.Digits().load(),
            sampler=d5.ShuffleSampler(64),
            epochs=1,
        ).run()
