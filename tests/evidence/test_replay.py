"""Replay: what the weights of a bundle say is compared with what the bundle says, and a forged number is found."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save

import deep500 as d5
from deep500 import bundle, cli
from deep500.frameworks import framework
from deep500.measure.machine import Environment, environment
from deep500.rerun import replay as replaying
from deep500.rerun.recipe_files import load_recipe
from deep500.rerun.recipe_runner import run
from deep500.training.events import Event

from .forging import Forger

OLD = Path(__file__).parents[1] / "data" / "before" / "recipe-0.1.0.zip"

OWN = '''
"""A recipe with a data set, a model and a metric of its own."""

from pathlib import Path

import numpy as np

import deep500 as d5

Path(__file__).with_name("was-run").touch()


class Line(d5.Dataset):
    def load(self):
        slope = float(Path(__file__).with_name("slope.txt").read_text())
        x = np.linspace(-1, 1, 100, dtype=np.float32)[:, None]
        parts = {"train": x[0::3], "validation": x[1::3], "test": x[2::3]}
        return {
            name: d5.Split({"x": part, "target": slope * part + 1}) for name, part in parts.items()
        }


class Straight(d5.Model):
    def build(self, shape, outputs, seed=0):
        network = d5.Network("straight")
        network.add_input("x", (0, *shape))
        network.add_param("w", np.full((*shape, outputs), 0.1 * seed, np.float32))
        network.add_param("b", np.zeros(outputs, np.float32))
        network.add_output(network.add_node("Gemm", ["x", "w", "b"], ["prediction"]))
        return network


class LossDrop(d5.Metric):
    def value(self, history):
        return history.losses[0] / history.losses[-1]


FIXED = {"model": Straight, "dataset": Line(), "task": "regression", "epochs": 2}
MUTABLE = {"batch_size": 10, "executor": "reference", "optimizer": "SGD", "optimizer_args": (0.1,)}
METRICS = [(d5.FinalQuality("R2"), None), (LossDrop(), None)]
'''


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bundles of two recipes of ours, and one of a recipe in a file."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEEP500_HOME", str(folder / "home"))
        fixed: dict[str, Any] = {
            "model": d5.networks.Mlp,
            "model_kwargs": {"hidden": (8,)},
            "dataset": d5.datasets.SyntheticImages(size=2000),
            "epochs": 2,
        }
        mutable = {
            "batch_size": 64,
            "executor": d5.framework("reference").from_model,
            "optimizer": d5.optimizers.Adam,
            "optimizer_args": (0.01,),
        }
        metrics = [(d5.TestAccuracy(), 10.0), (d5.Throughput(), None)]
        d5.run_recipe(fixed, mutable, metrics, folder=folder / "counted", seeds=2)
        measured = [(d5.FinalQuality("mean squared error"), None)]
        d5.run_recipe(
            fixed | {"task": "reconstruction"},
            mutable,
            measured,
            folder=folder / "real",
            seeds=2,
        )
        (folder / "own.py").write_text(OWN)
        (folder / "slope.txt").write_text("2.0")
        run(load_recipe(folder / "own.py"), folder / "own", seeds=2)
    return folder


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    return tmp_path


Blocks = list[dict[str, Any]]


def forged(
    source: Path,
    folder: Path,
    blocks: Callable[[Blocks], object] = lambda blocks: None,
    plan: Callable[[dict[str, Any]], object] = lambda plan: None,
    weights: Callable[[bytes], bytes] = lambda data: data,
) -> Path:
    """The bundle with something changed and everything that follows computed again, as a forger would."""
    forger = Forger(source)
    forger.files = {name: weights(data) for name, data in forger.files.items()}
    blocks(forger.blocks)
    plan(forger.plan)
    forger.rehash()
    return forger.seal(folder)


def end(blocks: Blocks, seed: int = 0) -> dict[str, Any]:
    return next(block for block in blocks if block["seed"] == seed and "test" in block)


def accuracy(value: float | None = None, more: float = 0.0) -> Callable[[Blocks], None]:
    """Claim another test accuracy of seed 0."""

    def change(blocks: Blocks) -> None:
        test = end(blocks)["test"]
        test["accuracy"] = test["accuracy"] + more if value is None else value

    return change


def verdict(*words: object) -> int:
    return cli.main(["verify", *map(str, words)])


def test_honest_weights_give_the_recorded_numbers_to_the_last_bit(
    made: Path, capsys: Any
) -> None:
    for name in ("counted", "real"):
        assert verdict(made / name, "--replay") == 0
        out = capsys.readouterr().out
        assert (
            "replayed: the weights of 2 seeds give all 4 recorded numbers to the last bit"
            in out
        )
        assert "not replayed: times, losses of steps" in out


def test_a_forged_accuracy_is_found(made: Path, home: Path, capsys: Any) -> None:
    true = end(bundle.read(made / "counted").blocks)["test"]["accuracy"]
    folder = forged(made / "counted", home / "forged", accuracy(99.9))
    assert verdict(folder) == 0, "the hashes alone cannot tell"
    assert verdict(folder, "--replay") == 1
    out = capsys.readouterr().out
    assert "NOT REPLAYED: the weights do not give 1 of 4 recorded numbers" in out
    assert f"seed 0: test accuracy: recorded 99.9 %, replayed {true:.10g} %" in out
    assert verdict(folder, "--replay", "--json") == 1
    answer = json.loads(capsys.readouterr().out)
    assert not answer["ok"] and answer["replay"]["verdict"] == "different"
    wrong = [number for number in answer["replay"]["numbers"] if not number["holds"]]
    assert [(n["name"], n["recorded"], n["replayed"]) for n in wrong] == [
        ("test accuracy", 99.9, true)
    ]


def test_a_forged_validation_accuracy_is_found(
    made: Path, home: Path, capsys: Any
) -> None:
    def last_epoch(blocks: Blocks) -> None:
        last = [b for b in blocks if b["seed"] == 1 and "evaluation" in b][-1]
        last["evaluation"]["validation"]["accuracy"] = 99.0

    folder = forged(made / "counted", home / "forged", last_epoch)
    assert verdict(folder, "--replay") == 1
    assert "seed 1: validation accuracy: recorded 99 %" in capsys.readouterr().out


def test_other_weights_are_found(made: Path, home: Path, capsys: Any) -> None:
    def noisy(data: bytes) -> bytes:
        random = np.random.default_rng(0)
        return save(
            {
                k: v + random.normal(size=v.shape).astype("f4")
                for k, v in load(data).items()
            }
        )

    folder = forged(made / "counted", home / "forged", weights=noisy)
    assert verdict(folder, "--replay") == 1
    assert "NOT REPLAYED" in capsys.readouterr().out


@pytest.mark.parametrize("data", [save({"x": np.ones(3, "f4")}), b"nonsense"])
def test_weights_that_do_not_fit_the_network_are_wrong(
    made: Path, home: Path, capsys: Any, data: bytes
) -> None:
    folder = forged(made / "counted", home / "forged", weights=lambda _: data)
    assert verdict(folder, "--replay") == 1
    assert (
        "the weights of seed 0 do not fit the recipe's network"
        in capsys.readouterr().err
    )


def elsewhere(patch: pytest.MonkeyPatch) -> None:
    """Make this look like another machine."""
    here = environment().to_json()
    here["classes"]["hardware compute"]["cpu model"]["value"] = "Another CPU"
    patch.setattr(replaying, "environment", lambda: Environment.from_json(here))


ONE = 100 / 400  # per cent of 400 examples


@pytest.mark.parametrize(
    ("examples", "here", "there"), [(0, 0, 0), (1, 1, 0), (2, 1, 1)]
)
def test_one_example_in_a_thousand_may_change_sides_on_another_machine_only(
    made: Path,
    home: Path,
    monkeypatch: Any,
    capsys: Any,
    examples: int,
    here: int,
    there: int,
) -> None:
    folder = forged(made / "counted", home / "forged", accuracy(more=examples * ONE))
    assert verdict(folder, "--replay") == here
    elsewhere(monkeypatch)
    assert verdict(folder, "--replay") == there
    assert "cpu model" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("factor", "here", "there"), [(1 + 1e-8, 0, 0), (1 - 1e-5, 1, 0), (1 - 1e-3, 1, 1)]
)
def test_a_mean_may_differ_by_rounding(
    made: Path,
    home: Path,
    monkeypatch: Any,
    capsys: Any,
    factor: float,
    here: int,
    there: int,
) -> None:
    def scaled(blocks: Blocks) -> None:
        end(blocks)["test"]["mean squared error"] *= factor

    folder = forged(made / "real", home / "forged", scaled)
    assert verdict(folder, "--replay") == here
    elsewhere(monkeypatch)
    assert verdict(folder, "--replay") == there
    assert there or "1 of them up to rounding" in capsys.readouterr().out


def test_other_data_decide_nothing(made: Path, home: Path, capsys: Any) -> None:
    def other(plan: dict[str, Any]) -> None:
        plan["recipe"]["fixed"]["dataset"]["settings"]["seed"] = 1

    assert (
        verdict(forged(made / "counted", home / "forged", plan=other), "--replay") == 3
    )
    said = capsys.readouterr().out
    assert (
        "not decided: the data set SyntheticImages is not the one that was recorded"
        in said
    )


def test_without_a_checksum_of_the_data_only_agreement_says_something(
    made: Path, home: Path, capsys: Any
) -> None:
    def without(plan: dict[str, Any]) -> None:
        del plan["data"]

    honest = forged(made / "counted", home / "honest", plan=without)
    assert verdict(honest, "--replay") == 0
    wrong = forged(made / "counted", home / "wrong", accuracy(99.9), plan=without)
    assert verdict(wrong, "--replay") == 3
    said = capsys.readouterr().out
    assert "has no checksum of its data" in said and "recorded 99.9 %" in said


def test_a_changed_definition_of_ours_decides_nothing(
    made: Path, home: Path, capsys: Any
) -> None:
    def older(plan: dict[str, Any]) -> None:
        plan["recipe"]["fixed"]["model"]["source"] = "0" * 64

    folder = forged(made / "counted", home / "forged", accuracy(99.9), plan=older)
    assert verdict(folder, "--replay") == 3
    assert "the source of Mlp is not the recorded one" in capsys.readouterr().out


def test_a_missing_framework_decides_nothing(
    made: Path, monkeypatch: Any, capsys: Any
) -> None:
    reference = framework("reference")
    monkeypatch.setattr(type(reference), "available", classmethod(lambda cls: False))
    monkeypatch.delitem(vars(reference), "module", raising=False)
    assert verdict(made / "counted", "--replay") == 3
    assert "not decided: reference is not installed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("model", "os:system"),
        ("dataset", "deep500.home:home"),
        ("executor", "os:system"),
    ],
)
def test_code_that_a_bundle_names_is_not_run(
    made: Path, home: Path, capsys: Any, key: str, name: str
) -> None:
    def named(plan: dict[str, Any]) -> None:
        part = plan["recipe"]["mutable" if key == "executor" else "fixed"]
        part[key] = {"name": name, "source": None}

    folder = forged(made / "counted", home / "forged", plan=named)
    assert verdict(folder, "--replay") == 3
    assert (
        f"the recipe brings its own {key} {name.partition(':')[2]!r}"
        in capsys.readouterr().out
    )


HOSTILE: list[Callable[[dict[str, Any]], object]] = [
    lambda plan: plan["recipe"]["fixed"].update(dataset="no such data"),
    lambda plan: plan["recipe"]["fixed"].update(
        dataset={"definition": [], "settings": {}}
    ),
    lambda plan: plan["recipe"]["fixed"].update(
        dataset={"definition": "Digits", "settings": 3}
    ),
    lambda plan: plan["recipe"]["fixed"].update(model_kwargs={"hidden": "abc"}),
    lambda plan: plan["recipe"]["fixed"].update(epochs=0),
    lambda plan: plan["recipe"]["mutable"].update(batch_size=0),
    lambda plan: plan["recipe"]["mutable"].update(batch_size="many"),
    lambda plan: plan["recipe"]["mutable"].update(executor=7),
    lambda plan: plan["recipe"]["mutable"].update(executor="no such framework"),
    lambda plan: plan["recipe"]["mutable"].pop("executor"),
    lambda plan: plan.update(threads="\x1b[2J"),
    lambda plan: plan.update(threads=-1),
    lambda plan: plan["recipe"]["fixed"]["dataset"]["settings"].update(size=10**15),
    lambda plan: plan["recipe"]["fixed"].update(model_kwargs={"hidden": [10**12]}),
]


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_a_strange_plan_is_answered_in_lines(
    made: Path, home: Path, capsys: Any, number: int
) -> None:
    folder = forged(made / "counted", home / "forged", plan=HOSTILE[number])
    assert verdict(folder, "--replay") in (0, 1, 2, 3)
    said = capsys.readouterr()
    assert all(line.isprintable() for line in (said.out + said.err).splitlines())


def test_definitions_of_a_file_need_the_file(made: Path, capsys: Any) -> None:
    (made / "was-run").unlink(missing_ok=True)
    assert verdict(made / "own", "--replay") == 3
    assert "give the recipe's file with --recipe FILE" in capsys.readouterr().out
    assert not (made / "was-run").exists()
    assert verdict(made / "own", "--replay", "--recipe", made / "own.py") == 0
    assert "give all 14 recorded numbers to the last bit" in capsys.readouterr().out
    assert (made / "was-run").exists()


def test_another_file_is_not_run(made: Path, home: Path, capsys: Any) -> None:
    (home / "own.py").write_text(OWN + "\n")
    assert verdict(made / "own", "--replay", "--recipe", home / "own.py") == 2
    assert "own.py is not the recipe of this bundle" in capsys.readouterr().err
    assert not (home / "was-run").exists()
    assert verdict(made / "own", "--replay", "--recipe", home / "none.py") == 2
    assert verdict(made / "own", "--recipe", made / "own.py") == 2
    assert verdict(made / "counted", "--replay", "--recipe", made / "own.py") == 2
    assert "names no file of its recipe" in capsys.readouterr().err


def test_a_forged_value_of_a_metric_of_ones_own_is_found(
    made: Path, home: Path, capsys: Any
) -> None:
    def better(blocks: Blocks) -> None:
        end(blocks)["recorded"]["LossDrop"] *= 2

    folder = forged(made / "own", home / "forged", better)
    assert verdict(folder, "--replay", "--recipe", made / "own.py") == 1
    assert "seed 0: LossDrop: recorded" in capsys.readouterr().out


@pytest.mark.parametrize("slope", ["3.0", None])
def test_changed_and_missing_data_of_ones_own_decide_nothing(
    made: Path, home: Path, capsys: Any, slope: str | None
) -> None:
    shutil.copy(made / "own.py", home / "own.py")
    if slope:
        (home / "slope.txt").write_text(slope)
    assert verdict(made / "own", "--replay", "--recipe", home / "own.py") == 3
    said = capsys.readouterr().out
    assert ("is not the one that was recorded" if slope else "is not available") in said


def test_other_kinds_and_unfinished_runs(made: Path, home: Path, capsys: Any) -> None:
    assert (
        cli.main(
            ["bench", "sum(range(100))", "--budget", "0.3", "--out", str(home / "b")]
        )
        == 0
    )
    capsys.readouterr()
    assert verdict(home / "b", "--replay") == 2
    said = capsys.readouterr().err
    assert (
        "is of kind 'bench' and holds no weights to replay" in said
        and said.count("\n") == 1
    )

    class Stop(Event):
        def after_epoch(self, trainer: d5.Trainer, record: dict[str, Any]) -> None:
            if record["epoch"] == 2:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fixed = {"model": "mlp", "dataset": "synthetic_images", "epochs": 2}
        mutable = {
            "batch_size": 64,
            "executor": "reference",
            "optimizer": d5.optimizers.SGD(0.1),
        }
        metrics = [(d5.FinalLoss(), None)]
        d5.run_recipe(
            fixed, mutable, metrics, folder=home / "part", seeds=1, events=[Stop()]
        )
    assert verdict(home / "part", "--replay") == 3
    assert "not decided: the run is unfinished" in capsys.readouterr().out


@pytest.mark.slow
def test_a_bundle_of_an_older_version(capsys: Any) -> None:
    assert verdict(OLD, "--replay") in (0, 3)
    assert "replay" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["reference", "pytorch", "jax", "tensorflow", "onnxruntime"]
)
def test_every_framework_replays_to_the_last_bit(tmp_path: Path, name: str) -> None:
    import os
    import subprocess
    import sys

    recipe = Path(__file__).parents[2] / "recipes" / "digits_cnn.py"
    how = ["--tier", "tiny", "--framework", name, "--out", str(tmp_path / "run")]
    for words, codes in (
        (["run", str(recipe), *how], (0, 1)),
        (["verify", str(tmp_path / "run"), "--replay"], (0,)),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "deep500.cli", *words],
            capture_output=True,
            text=True,
            timeout=600,
            env=os.environ | {"DEEP500_HOME": str(tmp_path / "home")},
        )
        assert done.returncode in codes, done.stdout + done.stderr
    assert "to the last bit" in done.stdout
