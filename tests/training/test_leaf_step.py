"""Training in leaves gives the same bits for any number of ranks, and what plain training gives, but for rounding."""

import hashlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.contracts.dataset_splits import loaded_splits
from deep500.contracts.executor import Executor
from deep500.contracts.leaves import Leaves, leaves_of
from deep500.contracts.recipe import Recipe
from deep500.distributed.recipe_training import recipe_sampler
from deep500.distributed.trainer import DistributedTrainer
from deep500.errors import Deep500Error, Unsupported
from deep500.training.building import (
    recipe_dataset,
    recipe_executor,
    recipe_leaves,
    recipe_task,
)
from deep500.training.leaf_step import LeafStep
from deep500.training.steps import training_step
from deep500.training.trainer import Trainer
from deep500.transports.virtual import Virtual

FRAMEWORKS = ["reference", "pytorch"]
TEXT = "to be or not to be, that is the question: whether it is nobler in the mind\n"
NETWORKS: dict[str, dict[str, Any]] = {
    "mlp": {"model": "mlp", "dataset": "digits"},
    "cnn": {
        "model": "digits_cnn",
        "model_kwargs": {"batch_norm": True, "channels": (2, 3), "hidden": (6, 5)},
        "dataset": "digits",
    },
    "resnet": {
        "model": "resnet",
        "model_kwargs": {"depth": 8, "form": "cifar", "width": 0.25},
        "dataset": "digits",
    },
    "gpt": {
        "model": "gpt",
        "model_kwargs": {"layers": 1, "width": 8, "heads": 2, "dropout": 0.2},
        "dataset": "text_file",
        "dataset_kwargs": {"file": "input.txt", "length": 8},
        "task": "next_token",
    },
}
BATCH = 400
LEAVES = "64,framework"
# ranks (0: no ranks at all), and the scheme's settings
LAYOUTS: list[tuple[int, dict[str, Any]]] = [
    (0, {}),
    (2, {}),
    (3, {"bucket_bytes": 500}),
    (8, {"collective": d5.collectives.Ring(), "bucket_bytes": 2000}),
]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def recipe(network: str, framework: str, folder: Path, **changes: Any) -> Recipe:
    fixed = {**NETWORKS[network], "epochs": 1, "train_sampler": d5.ShuffleSampler}
    if "dataset_kwargs" in fixed:
        (folder / "input.txt").write_text(TEXT * 150)
        fixed["dataset_kwargs"] = {**fixed["dataset_kwargs"], "folder": str(folder)}
    mutable = {
        "batch_size": BATCH,
        "executor": d5.framework(framework).from_model,
        "optimizer": d5.optimizers.Adam(0.01) | d5.optimizers.ClipByNorm(1.0),
        "reproducible": LEAVES,
        **changes,
    }
    return Recipe("leaves", fixed, mutable, [(d5.FinalQuality("accuracy"), None)])


def trained(subject: Recipe, ranks: int = 0, **scheme: Any) -> Trainer:
    """A trainer that has trained the recipe for an epoch, without ranks or on virtual ones."""
    task, splits = recipe_task(subject), loaded_splits(recipe_dataset(subject))

    def executor() -> Executor:
        return recipe_executor(subject, task, splits["train"], 0, 1)

    options: dict[str, Any] = {
        "splits": splits,
        "sampler": recipe_sampler(subject, 0),
        "epochs": 1,
        "events": [],
        "task": task,
    }
    optimizer = subject.make_optimizer()
    if not ranks:
        trainer = Trainer(executor(), optimizer, **options)
    else:
        executors = {rank: executor() for rank in range(ranks)}
        plan = d5.schemes.AllReduce(**scheme)
        trainer = DistributedTrainer(
            plan, Virtual(ranks), executors, optimizer, **options
        )
    trainer.run()
    return trainer


def digest(trainer: Trainer) -> str:
    """Of the weights, running statistics included, and of the losses."""
    sha = hashlib.sha256(np.array(trainer.series["loss"], np.float32).tobytes())
    for name, value in sorted(trainer.trained_arrays().items()):
        sha.update(name.encode() + value.tobytes())
    return sha.hexdigest()


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize(
    "network",
    ["mlp", "cnn", "gpt", pytest.param("resnet", marks=pytest.mark.slow)],
)
def test_one_hash(network: str, framework: str, tmp_path: Path) -> None:
    subject = recipe(network, framework, tmp_path)
    hashes = {
        digest(trained(subject, ranks, **scheme)): (ranks, scheme)
        for ranks, scheme in LAYOUTS
    }
    assert len(hashes) == 1, hashes


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("network", NETWORKS)
def test_it_is_plain_training_but_for_rounding(
    network: str, framework: str, tmp_path: Path
) -> None:
    """A step of SGD, so that differences stay what they are."""
    sgd = {"optimizer": d5.optimizers.SGD(1.0)}
    arrays = []
    for reproducible in (LEAVES, False):
        changes = {**sgd, "reproducible": reproducible}
        subject = recipe(network, framework, tmp_path, **changes)
        task, splits = recipe_task(subject), loaded_splits(recipe_dataset(subject))
        executor = recipe_executor(subject, task, splits["train"], 0, 1)
        step = training_step(executor, subject.make_optimizer(), "loss")
        assert isinstance(step, LeafStep) == (reproducible is not False)
        outputs = step.backprop(splits["train"].batch(slice(0, BATCH)))
        step.update()
        loss = float(executor.framework.array(outputs["loss"]))
        arrays.append({**executor.arrays(), "loss": np.array(loss)})
    for name, value in arrays[1].items():
        scale = max(1.0, np.abs(value).max())
        assert np.abs(arrays[0][name] - value).max() < 2e-6 * scale, name


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_leaves_that_depend_on_ranks_are_found(
    framework: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted error is what everyone does: one gradient for all examples of a rank."""
    real = LeafStep._leaves

    def of_a_rank(step: LeafStep, share: Any) -> Any:
        whole = Leaves(max(1, share.size), step.leaves.fraction)
        monkeypatch.setattr(step, "leaves", whole)
        return real(step, share._replace(first_row=0))

    monkeypatch.setattr(LeafStep, "_leaves", of_a_rank)
    subject = recipe("mlp", framework, tmp_path)
    assert digest(trained(subject)) != digest(trained(subject, 2))


def test_resuming_gives_the_same_bits(tmp_path: Path) -> None:
    """The state of the step is that of the framework's own."""
    subject = recipe("cnn", "pytorch", tmp_path)
    task, splits = recipe_task(subject), loaded_splits(recipe_dataset(subject))
    batch = splits["train"].batch(slice(0, 100))
    arrays = []
    for is_resumed in (False, True):
        executor = recipe_executor(subject, task, splits["train"], 0, 1)
        step = training_step(executor, subject.make_optimizer(), "loss")
        step(batch)
        if is_resumed:
            before, state = executor.arrays(), step.state()
            executor = recipe_executor(subject, task, splits["train"], 1, 1)
            step = training_step(executor, subject.make_optimizer(), "loss")
            executor.load(before)
            step.load_state(state)
        step(batch)
        arrays.append(executor.arrays())
    for name, value in arrays[0].items():
        assert value.tobytes() == arrays[1][name].tobytes(), name


def step_of(subject: Recipe) -> tuple[LeafStep, dict[str, np.ndarray]]:
    task, splits = recipe_task(subject), loaded_splits(recipe_dataset(subject))
    executor = recipe_executor(subject, task, splits["train"], 0, 1)
    step = training_step(executor, subject.make_optimizer(), "loss")
    assert isinstance(step, LeafStep)
    return step, splits["train"].batch(slice(0, BATCH))


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_gradient_beyond_the_range_is_named(framework: str, tmp_path: Path) -> None:
    step, batch = step_of(recipe("mlp", framework, tmp_path))
    name, *_ = step.executor.structure.trainable
    step.executor.write(name, 1e6 * step.executor.arrays()[name])
    message = r"the gradient of .*weight has .* give \d+ bits or fewer.*ble 64,\d+$"
    with pytest.raises(Deep500Error, match=message):
        step.backprop(batch)
    step, batch = step_of(
        recipe("mlp", framework, tmp_path, reproducible="64,55,framework")
    )
    with pytest.raises(Deep500Error, match="the loss has 2.* numbers below 0.0625"):
        step.backprop(batch)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_what_is_not_finite_is_named(framework: str, tmp_path: Path) -> None:
    step, batch = step_of(recipe("mlp", framework, tmp_path))
    name, *_ = step.executor.structure.trainable
    step.executor.write(name, np.full(step.executor.spec(name).shape, np.nan, "f4"))
    with pytest.raises(Deep500Error, match="not finite.*the training has diverged"):
        step.backprop(batch)


@pytest.mark.parametrize("framework", ["jax", "tensorflow", "onnxruntime"])
def test_other_frameworks_say_what_prevents_it(framework: str, tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match=f"{framework} cannot train reproducibly: "):
        step_of(recipe("mlp", framework, tmp_path))


def test_operators_that_mix_examples_are_refused(tmp_path: Path) -> None:
    subject = recipe("mlp", "reference", tmp_path)
    network = d5.networks.Mlp(hidden=(8,)).build((1, 8, 8), 10, seed=0)
    mean = network.add_node("ReduceMean", ("logits", (0,)), ["mean"])
    apart = network.add_node("Sub", ("logits", mean), ["apart"])
    network.add_edge(apart, "loss", 0)
    executor = d5.framework("reference").executor(network)
    executor.leaves = Leaves(64)
    step = training_step(executor, d5.optimizers.SGD(0.1), "loss")
    _, batch = step_of(subject)
    with pytest.raises(Unsupported, match="mixes examples of a batch"):
        step(batch)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"precision": d5.precisions.BFloat16()}, "with 'precision'.*leave it out"),
        ({"reproducible": "0"}, "has 0 rows: give 1"),
        ({"reproducible": "16,101"}, "101 bits behind the point: give 0 to 100"),
        ({"reproducible": "many"}, "is asked for with 'many'"),
        ({"reproducible": "fixed,framework"}, "is asked for with 'fixed,fr"),
    ],
)
def test_bad_recipes(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(Deep500Error, match=message):
        recipe_leaves(recipe("mlp", "reference", tmp_path, **changes))


def test_leaves_of_an_entry() -> None:
    assert leaves_of(True) == leaves_of("16") == Leaves(16, 40)
    assert leaves_of("8,30") == leaves_of(Leaves(8, 30)) == Leaves(8, 30)
    assert (
        leaves_of("8,framework")
        == leaves_of("framework,8")
        == Leaves(8, 40, "framework")
    )
    assert leaves_of("fixed") == Leaves(kernels="fixed")
    assert leaves_of(False) is None
    assert Leaves(16).count(33) == 3
