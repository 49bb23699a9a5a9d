"""A trainer and a recipe train a framework's own model; ONNX files go through from_model on every framework."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.contracts.dataset import Split
from deep500.errors import Deep500Error
from deep500.frameworks import available_frameworks, framework
from deep500.networks import Mlp
from deep500.optimizers import SGD, Momentum
from deep500.samplers import OrderedSampler
from deep500.tasks import Classification
from deep500.training.building import recipe_executor
from deep500.training.checkpoint import Checkpoint
from deep500.training.trainer import Trainer

torch: Any = pytest.importorskip("torch")
PYTORCH = framework("pytorch")


@pytest.fixture(autouse=True)
def one_thread() -> None:
    PYTORCH.set_threads(1)


def splits() -> dict[str, Split]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((24, 6)).astype("float32")
    split = Split({"x": x, "label": x[:, :3].argmax(axis=1)})
    return dict.fromkeys(("train", "validation", "test"), split)


def module() -> Any:
    torch.manual_seed(0)
    layers = [torch.nn.Linear(6, 16), torch.nn.BatchNorm1d(16), torch.nn.Tanh()]
    return torch.nn.Sequential(*layers, torch.nn.Dropout(0.1), torch.nn.Linear(16, 3))


def trainer(executor: Any, epochs: int = 20) -> Trainer:
    task = Classification(input="x", prediction="output")
    return Trainer(
        executor,
        Momentum(0.1),
        splits=splits(),
        sampler=OrderedSampler(8),
        epochs=epochs,
        task=task,
    )


def test_a_trainer_trains_a_module_in_place() -> None:
    model = module()
    loss = torch.nn.CrossEntropyLoss()
    run = trainer(PYTORCH.from_model(model, loss=loss, inputs=["x"], seed=0))
    history = run.run()
    assert history.evaluations[-1]["test"]["accuracy"] > 90
    model.eval()
    predicted = model(torch.from_numpy(splits()["test"].arrays["x"])).argmax(dim=1)
    right = predicted.numpy() == splits()["test"].arrays["label"]
    assert history.evaluations[-1]["test"]["accuracy"] == pytest.approx(
        100 * right.mean()
    )


def test_without_a_loss_it_gets_that_of_the_task() -> None:
    histories = []
    for loss in (None, d5.losses.CrossEntropy()):
        executor = PYTORCH.from_model(module(), loss=loss, inputs=["x"], seed=0)
        histories.append(trainer(executor, 2).run())
        assert executor.arrays()["1.num_batches_tracked"] == 6
    assert histories[0].losses == histories[1].losses


def test_a_resumed_run_goes_on_with_the_same_bits() -> None:
    """Dropout included."""
    whole = PYTORCH.from_model(
        module(), loss=d5.losses.CrossEntropy(), inputs=["x"], seed=3
    )
    expected = trainer(whole, 2).run()
    half = trainer(
        PYTORCH.from_model(
            module(), loss=d5.losses.CrossEntropy(), inputs=["x"], seed=3
        ),
        1,
    )
    half.run()
    checkpoint: Checkpoint = half.checkpoint()
    rest = PYTORCH.from_model(
        module(), loss=d5.losses.CrossEntropy(), inputs=["x"], seed=3
    )
    history = trainer(rest, 2).run(checkpoint)
    assert history.losses == expected.losses
    assert all(np.array_equal(v, rest.arrays()[n]) for n, v in whole.arrays().items())


class TorchPerceptron(d5.Model):
    """A definition whose networks are PyTorch's own."""

    width: int = 16

    def build(self, shape: Any, outputs: int, seed: int = 0) -> Any:
        torch.manual_seed(seed)
        first = torch.nn.Linear(int(np.prod(shape)), self.width)
        return torch.nn.Sequential(
            torch.nn.Flatten(),
            first,
            torch.nn.ReLU(),
            torch.nn.Linear(self.width, outputs),
        )


def recipe(executor: Any) -> d5.Recipe:
    fixed = {"model": TorchPerceptron(), "dataset": "digits", "epochs": 1}
    mutable = {"batch_size": 64, "executor": executor, "optimizer": SGD(0.1)}
    return d5.Recipe("perceptron", fixed, mutable, [(d5.TestAccuracy(), 20.0)])


def test_a_recipe_trains_a_definition_of_modules() -> None:
    data = d5.datasets.Digits().load()
    executor = recipe_executor(recipe("pytorch"), Classification(), data["train"], 0, 1)
    assert [*executor.structure.inputs] == ["x", "label"]
    run = Trainer(
        executor,
        SGD(0.1),
        splits=data,
        sampler=OrderedSampler(64),
        epochs=1,
        task=Classification(),
    )
    assert run.run().evaluations[-1]["test"]["accuracy"] > 20
    with pytest.raises(Deep500Error, match="a torch module runs on pytorch only"):
        recipe_executor(recipe("reference"), Classification(), data["train"], 0, 1)


@pytest.mark.parametrize("name", available_frameworks())
def test_an_onnx_model_in_any_form(name: str, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    fw = framework(name)
    plain = Mlp((5,)).predictor((6,), 3, seed=2)
    path = tmp_path / "model.onnx"
    model = plain.to_onnx(path)
    arrays = splits()["train"].arrays
    losses = []
    for form in (path, str(path), path.read_bytes(), model):
        executor = fw.from_model(form, loss=d5.losses.CrossEntropy(), threads=1)
        outputs = executor.training_step(SGD(0.1))(arrays)
        losses.append(float(fw.array(outputs["loss"])))
    assert len({*losses}) == 1
    reference = framework("reference").from_model(plain, loss=d5.losses.CrossEntropy())
    assert losses[0] == pytest.approx(
        float(reference.inference(arrays)["loss"]), rel=1e-5
    )


def test_what_a_network_does_not_take() -> None:
    plain = Mlp(()).predictor((6,), 3)
    with pytest.raises(Deep500Error, match="the loss of a d5.Network is a d5.Loss"):
        PYTORCH.from_model(plain, loss=torch.nn.CrossEntropyLoss())
    with pytest.raises(Deep500Error, match="inputs= is for a framework's own model"):
        PYTORCH.from_model(plain, inputs=["x"])
    with pytest.raises(
        Deep500Error, match="cannot read an ONNX model from 'nowhere.onnx'"
    ):
        PYTORCH.from_model("nowhere.onnx")


@pytest.mark.parametrize("names", [{}, {"outputs": ["answer"]}])
def test_a_module_with_one_output_needs_no_name_for_it(names: dict[str, Any]) -> None:
    executor = PYTORCH.from_model(module(), inputs=["x"], seed=0, **names)
    run = Trainer(
        executor,
        Momentum(0.1),
        splits=splits(),
        sampler=OrderedSampler(8),
        epochs=20,
        events=[],
    )
    assert run.run().evaluations[-1]["test"]["accuracy"] > 90


def test_one_of_several_outputs_is_not_guessed() -> None:
    class Two(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(6, 3)

        def forward(self, x: Any) -> Any:
            return self.layer(x), 2 * self.layer(x)

    executor = PYTORCH.from_model(Two(), inputs=["x"], outputs=["a", "b"], seed=0)
    with pytest.raises(Deep500Error, match="no output 'logits'|logits"):
        Trainer(
            executor,
            SGD(0.1),
            splits=splits(),
            sampler=OrderedSampler(8),
            epochs=1,
            events=[],
        ).run()
