"""Recipes of any task, with definitions of one's own: run, hashed, verified."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500 import bundle
from deep500.bundle.records.loading import load
from deep500.bundle.records.verification import verify
from deep500.contracts.recipe import Recipe
from deep500.errors import Deep500Error
from deep500.reports.html import html
from deep500.reports.terminal import terminal
from deep500.rerun.recipe_files import load_recipe
from deep500.rerun.recipe_runner import run
from deep500.training.events import Event
from deep500.training.outcome import histories
from tests.training.recipe_documents import checked_blocks

OWN = '''
"""A recipe with a model, a data set, a task, a loss, a sampler, an optimizer and a metric of its own."""

import numpy as np

import deep500 as d5


class Line(d5.Dataset):
    slope: float = 2.0

    def load(self):
        x = np.linspace(-1, 1, 100, dtype=np.float32)[:, None]
        order = np.random.default_rng(0).permutation(100)
        parts = {"train": order[:60], "validation": order[60:80], "test": order[80:]}
        return {
            name: d5.Split({"x": x[rows], "target": self.slope * x[rows] + 1})
            for name, rows in parts.items()
        }


class Straight(d5.Model):
    def build(self, shape, outputs, seed=0):
        network = d5.Network("straight")
        network.add_input("x", (0, *shape))
        network.add_param("w", np.full((*shape, outputs), 0.1 * seed, np.float32))
        network.add_param("b", np.zeros(outputs, np.float32))
        network.add_output(network.add_node("Gemm", ["x", "w", "b"], ["prediction"]))
        return network


class Close(d5.tasks.Regression):
    qualities = (*d5.tasks.Regression.qualities, d5.Quality("close", "%", "higher"))

    def measure(self, outputs, batch):
        near = np.abs(outputs["prediction"] - batch["target"]) < 0.5
        return super().measure(outputs, batch) | {"close": 100.0 * near.all(axis=1)}

    def evaluate(self, means):
        return super().evaluate(means) | {"close": means["close"]}


class Quartic(d5.Loss):
    def add(self, network, prediction, target):
        difference = network.add_node("Sub", (prediction, target))
        square = network.add_node("Mul", (difference, difference))
        fourth = network.add_node("Mul", (square, square))
        return network.add_node("ReduceMean", (fourth,), ["loss"], keepdims=0)


class Backwards(d5.OrderedSampler):
    def epoch(self, size, epoch):
        order = np.arange(size)[::-1]
        return (order[i : i + self.batch_size] for i in range(0, size, self.batch_size))


class Half(d5.optimizers.SGD):
    def update(self, xp, param, grad, state, step):
        return param - 0.5 * self.learning_rate * grad, state


class LossDrop(d5.Metric):
    """How many times smaller the loss is at the end than at the start."""

    unit = "x"
    kind = "ratio"
    power: float = 1.0

    def value(self, history):
        return (history.losses[0] / history.losses[-1]) ** self.power


FIXED = {
    "model": Straight,
    "dataset": Line(slope=3.0),
    "task": Close(),
    "loss": Quartic,
    "train_sampler": Backwards,
    "epochs": 6,
}
MUTABLE = {
    "batch_size": 10,
    "executor": "reference",
    "optimizer": Half,
    "optimizer_args": (0.2,),
}
METRICS = [
    (d5.FinalQuality("R2"), 0.5),
    (d5.FinalQuality("close"), None),
    (LossDrop(), 2.0),
    (LossDrop(power=2.0), None),
    (d5.FinalLoss(), None),
]
'''


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.fixture
def own(home: Path) -> Path:
    path = home / "own.py"
    path.write_text(OWN)
    return path


def test_everything_in_a_recipe_may_be_ones_own(own: Path) -> None:
    outcome = run(load_recipe(own), own.parent / "run", "full", seeds=3)
    assert outcome
    r2, close, drop, squared, loss = outcome.derived.metrics
    assert (r2.name, r2.settings["name"], r2.better) == (
        "FinalQuality",
        "R2",
        "higher",
    )
    assert min(r2.values) > 0.9 and close.unit == "%" and close.median > 50
    assert drop.unit == "x" and min(drop.values) > 2
    assert squared.values == pytest.approx([value**2 for value in drop.values])
    assert drop.notes[0] == "recorded while it was run, not derived from the samples"
    assert not any(
        "recorded" in note for note in [*r2.notes, *close.notes, *loss.notes]
    )
    checked = verify(outcome.bundle)
    assert checked.ok, checked.problems


def test_the_curves_and_tables_show_the_tasks_own_quality(own: Path) -> None:
    folder = run(load_recipe(own), own.parent / "run", "full", seeds=2).bundle
    report = load(folder).report()
    page, text = html(report), terminal(report)
    assert (
        "Mean squared error over the time of training" in page
        and "accuracy" not in page.lower()
    )
    assert "recorded while it was run" in text and "| test R2 " in text


def test_a_changed_recorded_value_is_noticed(own: Path) -> None:
    found = bundle.read(
        run(load_recipe(own), own.parent / "run", "full", seeds=2).bundle
    )
    blocks = json.loads(json.dumps(found.blocks))
    blocks[-1]["recorded"]["LossDrop"] = 1e6
    forged = own.parent / "forged"
    documents = {
        name: found.documents[name] for name in ("plan.json", "environment.json")
    }
    writer = bundle.create(forged, documents, kind="recipe")
    for block in blocks:
        writer.append(block)
    writer.finish({"derived.json": found.documents["derived.json"]})
    assert any("metrics/2" in problem for problem in verify(forged).problems)


def test_the_hash_names_every_definition_and_its_source(own: Path) -> None:
    first = load_recipe(own)
    form = first.to_json()
    assert form["fixed"]["dataset"]["settings"] == {"slope": 3.0}
    for key in ("model", "dataset", "task", "loss", "train_sampler"):
        assert len(form["fixed"][key]["source"]) == 64, key
    assert len(form["mutable"]["optimizer"]["source"]) == 64
    assert (
        len(form["metrics"][2][0]["source"]) == 64
        and "source" not in form["metrics"][0][0]
    )
    assert load_recipe(own).hash == first.hash
    for old, new in (
        ("0.1 * seed", "0.2 * seed"),
        ("slope=3.0", "slope=4.0"),
        ("[::-1]", "[::1]"),
    ):
        own.write_text(OWN.replace(old, new))
        changed = load_recipe(own).to_json()
        assert changed["fixed"] != form["fixed"], old
    own.write_text(OWN.replace("** self.power", "* self.power"))
    assert load_recipe(own).to_json()["metrics"][2] != form["metrics"][2]


SMALL: dict[str, Any] = {"model": "mlp", "dataset": "synthetic_images", "epochs": 1}
HOW: dict[str, Any] = {"batch_size": 256, "executor": "reference", "optimizer": "SGD"}
METRICS = [(d5.FinalLoss(), None)]


def losses(fixed: dict, mutable: dict, folder: Path) -> list[float]:
    outcome = d5.run_recipe(fixed, mutable, METRICS, folder=folder, seeds=1)
    [history] = histories(checked_blocks(bundle.read(outcome.bundle).blocks))
    return history.losses


def test_a_name_a_class_and_a_definition_are_the_same_run(home: Path) -> None:
    names = losses(
        SMALL
        | {
            "model_kwargs": {"hidden": (8,)},
            "task": "classification",
            "loss": "cross_entropy",
        },
        HOW | {"optimizer_args": (0.1,)},
        home / "names",
    )
    classes = losses(
        SMALL
        | {
            "model": d5.networks.Mlp,
            "model_args": ((8,),),
            "task": d5.tasks.Classification,
        }
        | {"dataset": d5.datasets.SyntheticImages, "train_sampler": d5.ShuffleSampler},
        HOW
        | {"optimizer": d5.optimizers.SGD, "optimizer_kwargs": {"learning_rate": 0.1}},
        home / "classes",
    )
    instances = losses(
        SMALL
        | {"model": d5.networks.Mlp((8,)), "dataset": d5.datasets.SyntheticImages()}
        | {
            "loss": d5.losses.CrossEntropy(),
            "train_sampler": d5.ShuffleSampler(1, seed=9),
        },
        HOW
        | {
            "optimizer": d5.optimizers.SGD(0.1),
            "executor": d5.framework("reference").from_model,
        },
        home / "instances",
    )
    assert names == classes == instances


def test_a_network_in_a_file_is_a_model(home: Path) -> None:
    d5.networks.Mlp((8,)).build((1, 8, 8), 10, seed=0).to_onnx(home / "mlp.onnx")
    mutable = HOW | {"optimizer_args": (0.1,)}
    from_file = SMALL | {"model": "onnx_file", "model_args": (str(home / "mlp.onnx"),)}
    built = SMALL | {"model": d5.networks.Mlp((8,))}
    assert losses(from_file, mutable, home / "a") == losses(built, mutable, home / "b")


def test_the_seed_of_a_run_reaches_its_executor(home: Path) -> None:
    seeds: list[int] = []

    def executor(network: d5.Network, *, seed: int, **options: Any) -> Any:
        seeds.append(seed)
        return d5.framework("reference").from_model(network, seed=seed, **options)

    mutable = HOW | {"executor": executor, "optimizer_args": (0.1,)}
    d5.run_recipe(SMALL, mutable, METRICS, folder=home / "run", seeds=3)
    assert seeds == [0, 0, 1, 2]  # the first is the rehearsal


WRONG: dict[str, dict[str, Any]] = {
    "no entry 'modle'. Did you mean 'model'\\? Known: model, dataset": {"modle": "mlp"},
    "'model'\\] cannot be 3": {"model": 3},
    "no network is named 'mpl'": {"model": "mpl"},
    "no task is named 'regresion'. Did you mean 'Regression'": {"task": "regresion"},
    "'model' is a SGD, and a d5.Model is needed": {"model": d5.optimizers.SGD(0.1)},
    "'task' is a Digits, and a d5.Task is needed": {"task": d5.datasets.Digits},
    "has its settings already: give its class": {
        "model": d5.networks.Mlp(),
        "model_args": ((8,),),
    },
    "'mlp' cannot be made with \\(width=3\\)": {"model_kwargs": {"width": 3}},
    "the task Regression needs 'target', and the split 'train' has: x, label": {
        "task": "regression"
    },
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_entries_are_one_line(home: Path, text: str) -> None:
    with pytest.raises(Deep500Error, match=text) as caught:
        losses(SMALL | WRONG[text], HOW | {"optimizer_args": (0.1,)}, home / "run")
    assert "\n" not in str(caught.value) and not (home / "run").exists()


def test_a_metric_that_the_task_does_not_give_is_refused_before_training(
    home: Path,
) -> None:
    fixed = SMALL | {"task": "reconstruction"}
    for metric, text in (
        (
            d5.TestAccuracy(),
            "no quality of the task is named 'accuracy'. Known: mean squared error",
        ),
        (d5.FinalQuality("R2"), "is named 'R2'. Known: mean squared error"),
    ):
        with pytest.raises(Deep500Error, match=text):
            d5.run_recipe(
                fixed,
                HOW | {"optimizer_args": (0.1,)},
                [(metric, 1.0)],
                folder=home / "run",
            )
    assert not (home / "run").exists()


def test_a_metric_of_ones_own_that_fails_is_one_line(home: Path) -> None:
    class Broken(d5.Metric):
        def value(self, history: d5.History) -> float:
            raise ValueError("no\nway")

    with pytest.raises(
        Deep500Error, match="the metric Broken cannot be computed: ValueError: no way"
    ):
        d5.run_recipe(
            SMALL,
            HOW | {"optimizer_args": (0.1,)},
            [(Broken(), None)],
            folder=home / "run",
        )


def test_a_metric_of_ones_own_that_gives_a_text_is_one_line(home: Path) -> None:
    class Wordy(d5.Metric):
        def value(self, history: d5.History) -> Any:
            return "3 or so"

    said = r"Wordy.value \(test_recipe_runner.py, line \d+\) gives '3 or so': `value` returns a number"
    with pytest.raises(Deep500Error, match=said):
        d5.run_recipe(
            SMALL,
            HOW | {"optimizer_args": (0.1,)},
            [(Wordy(), None)],
            folder=home / "run",
        )


def test_a_loss_that_diverges_is_written_as_null_and_read_back(home: Path) -> None:
    fixed = SMALL | {"task": d5.tasks.Reconstruction(), "epochs": 3}
    with np.errstate(all="ignore"):
        outcome = d5.run_recipe(
            fixed,
            HOW | {"optimizer_args": (1e30,)},
            METRICS,
            folder=home / "run",
            seeds=1,
        )
    blocks = checked_blocks(bundle.read(outcome.bundle).blocks)
    assert blocks[-1].test == {"mean squared error": None}
    assert verify(outcome.bundle).ok and outcome.derived.metrics[0].values == [None]


def test_series_of_events_are_in_the_bundle(home: Path) -> None:
    class Rates(Event):
        def after_step(self, trainer: d5.Trainer, outputs: dict[str, Any]) -> None:
            trainer.record("rate", 0.5)

    recipe = Recipe(
        "r", SMALL | {"epochs": 2}, HOW | {"optimizer_args": (0.1,)}, METRICS
    )
    outcome = run(recipe, home / "run", "full", seeds=2, events=[Rates()])
    for history in histories(checked_blocks(bundle.read(outcome.bundle).blocks)):
        assert history.series["rate"] == [0.5] * history.steps and history.steps == 6


class StopAfter(Event):
    """Interrupts once, after some epochs of all seeds together."""

    def __init__(self, epochs: int) -> None:
        self.left = epochs

    def after_epoch(self, trainer: d5.Trainer, record: dict[str, Any]) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("epochs", [2, 6, 9])
def test_an_interrupted_recipe_of_ones_own_ends_in_the_same_bits(
    own: Path, epochs: int
) -> None:
    whole = run(load_recipe(own), own.parent / "whole", "full", seeds=2)
    with pytest.raises(KeyboardInterrupt):
        run(
            load_recipe(own),
            own.parent / "run",
            "full",
            seeds=2,
            events=[StopAfter(epochs)],
        )
    resumed = run(load_recipe(own), own.parent / "run", "full", seeds=2, resume=True)
    assert bundle.read(resumed.bundle).files == bundle.read(whole.bundle).files
    values = [[m.values for m in o.derived.metrics] for o in (whole, resumed)]
    assert values[0] == values[1] and verify(resumed.bundle).ok


def test_a_metric_of_ones_own_that_reads_a_missing_quality_is_refused(
    home: Path,
) -> None:
    class Doubled(d5.Metric):
        reads = "R2"

    with pytest.raises(Deep500Error, match="is named 'R2'. Known: accuracy"):
        d5.run_recipe(
            SMALL,
            HOW | {"optimizer_args": (0.1,)},
            [(Doubled(), 1)],
            folder=home / "run",
        )


class Counting(Event):
    """Ends every run after some epochs of its own."""

    def __init__(self, epochs: int) -> None:
        self.epochs, self.seen = epochs, 0

    def after_epoch(self, trainer: d5.Trainer, record: dict[str, Any]) -> bool:
        self.seen += 1
        return self.seen == self.epochs

    def state(self) -> dict[str, Any]:
        return {"seen": self.seen}

    def load_state(self, state: Any) -> None:
        self.seen = state["seen"]


def test_no_seed_starts_from_the_events_that_another_one_has_left_behind(
    own: Path,
) -> None:
    outcome = run(
        load_recipe(own), own.parent / "run", "full", seeds=3, events=[Counting(2)]
    )
    assert outcome.derived.steps == [12, 12, 12]
    with pytest.raises(KeyboardInterrupt):
        events = [Counting(3), StopAfter(5)]
        run(load_recipe(own), own.parent / "part", "full", seeds=3, events=events)
    resumed = run(
        load_recipe(own),
        own.parent / "part",
        "full",
        seeds=3,
        resume=True,
        events=[Counting(3)],
    )
    assert resumed.derived.steps == [18, 18, 18]


HOOKS = {
    "Line.load": "def load(self):",
    "Straight.build": "def build(self, shape, outputs, seed=0):",
    "Close.measure": "def measure(self, outputs, batch):",
    "Close.evaluate": "def evaluate(self, means):",
    "Quartic.add": "def add(self, network, prediction, target):",
    "Backwards.epoch": "def epoch(self, size, epoch):",
    "Half.update": "def update(self, xp, param, grad, state, step):",
}


@pytest.mark.parametrize("hook", HOOKS)
def test_an_error_in_code_of_ones_own_says_where(home: Path, hook: str) -> None:
    signature = HOOKS[hook]
    line = OWN[: OWN.index(signature)].count("\n") + 2
    (home / "own.py").write_text(
        OWN.replace(signature, f"{signature}\n        {{}}['boom']")
    )
    whose = "the optimizer" if hook == "Half.update" else "recipe own"
    said = rf"^{whose}: {hook} \(own.py, line {line}\) raised KeyError: 'boom'$"
    with pytest.raises(Deep500Error, match=said):
        run(load_recipe(home / "own.py"), home / "run", "tiny", seeds=1)
    assert not (home / "run").exists()


def test_an_error_of_ours_is_not_blamed_on_users() -> None:
    code = "from deep500.errors import errors_of_user_code as own\nfrom deep500.registry import file_stem\n"
    with pytest.raises(TypeError):
        exec(f"{code}with own('a recipe'): file_stem(None)", {})


def test_a_loss_beside_a_model_that_brings_its_own_is_refused(home: Path) -> None:
    class Sums(d5.Model):
        def build(self, shape: Any, outputs: int, seed: int = 0) -> d5.Network:
            return d5.networks.Mlp().build(shape, outputs, seed)

    entries = SMALL | {"model": Sums, "loss": "cross_entropy"}
    said = r"FIXED\['loss'\] is CrossEntropy, and the model Sums brings its own loss: take one of them out"
    with pytest.raises(Deep500Error, match=said):
        losses(entries, HOW | {"optimizer_args": (0.1,)}, home / "run")
    assert not (home / "run").exists()


FACTORY = """
import deep500 as d5


def network(shape, outputs, width=8):
    import torch

    size = shape[0] * shape[1] * shape[2]
    return torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(size, width), torch.nn.ReLU(), torch.nn.Linear(width, outputs)
    )


FIXED = {"model": "network", "model_kwargs": {"width": 12}, "dataset": "synthetic_images", "epochs": 2}
MUTABLE = {"batch_size": 256, "executor": "pytorch", "optimizer": d5.optimizers.SGD(0.1)}
METRICS = [("TestAccuracy", None), (d5.FinalLoss, None)]
"""


def test_a_function_that_makes_a_module_is_a_model(home: Path) -> None:
    """By its name; its first weights are decided by the seed, and its source is in the hash."""
    path = home / "factory.py"
    path.write_text(FACTORY)
    recipe = load_recipe(path)
    assert len(recipe.to_json()["fixed"]["model"]["source"]) == 64
    hashes = []
    for name in ("one", "two"):
        outcome = run(recipe, home / name, "small", seeds=2)
        assert verify(outcome.bundle).ok
        hashes.append(bundle.read(outcome.bundle).files)
    assert hashes[0] == hashes[1]
    assert len({*hashes[0].values()}) == 2  # each seed has weights of its own


def test_an_open_division_says_so_in_plan_and_report(home: Path) -> None:
    fixed = SMALL | {"model_kwargs": {"hidden": (4,)}}
    recipe = Recipe("r", fixed, HOW | {"optimizer": d5.optimizers.SGD(0.1)}, METRICS)
    changed = recipe.with_settings({"epochs": 2}, "open")
    outcome = run(changed, home / "run", seeds=1)
    plan = outcome.record.plan
    assert plan.division == "open" and plan.differences == [("epochs", 1, 2)]
    text = terminal(load(outcome.bundle).report())
    assert "Open division: FIXED 'epochs' is 2, and the recipe has 1" in text


def test_threads_and_devices_are_checked(home: Path) -> None:
    recipe = Recipe("r", SMALL, HOW | {"optimizer": d5.optimizers.SGD(0.1)}, METRICS)
    with pytest.raises(Deep500Error, match="0 threads make no sense"):
        run(recipe, home / "run", seeds=1, threads=0)
    asked = recipe.with_settings({"executor_kwargs": {"device": d5.GPUDevice()}})
    with pytest.raises(Deep500Error, match="--device cpu"):
        run(asked, home / "run", seeds=1)
    assert not (home / "run").exists()
