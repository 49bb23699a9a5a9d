"""A framework from another package: listed, diagnosed and run without a setting for its threads."""

from typing import Any

import pytest

from deep500 import TestAccuracy, bundle
from deep500.contracts.framework import Framework
from deep500.contracts.recipe import Recipe
from deep500.frameworks.reference import Reference
from deep500.training.planning import recipe_threads

ADAPTER = """
from deep500.contracts.framework import Framework
from deep500.frameworks.reference import Reference


class Plain(Reference):
    name = "plain"
    set_threads = Framework.set_threads  # it has none of its own


FRAMEWORK = Plain()
"""


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """Install a module as the framework `plain`."""

    def install(source):
        site = tmp_path / "site"
        information = site / "plain-1.0.dist-info"
        information.mkdir(parents=True)
        (information / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: plain\nVersion: 1.0\n"
        )
        (information / "entry_points.txt").write_text(
            "[deep500.frameworks]\nplain = plain_adapter\n"
        )
        (site / "plain_adapter.py").write_text(source)
        monkeypatch.setenv("PYTHONPATH", str(site), prepend=":")

    return install


def listed(d5):
    return [row["framework"] for row in d5("list", "frameworks", "--json").json]


def test_the_frameworks_of_users_are_listed_and_that_of_tests_is_not(fresh_d5, outside):
    outside(ADAPTER)
    assert {"plain", "reference", "pytorch"} <= set(listed(fresh_d5))
    assert "fake" not in listed(fresh_d5)
    unknown = fresh_d5("check", "operator", "Relu", "--framework", "plane")
    assert (
        unknown.code == 2
        and "Did you mean 'plain'?" in unknown.err
        and "fake" not in unknown.err
    )
    assert (
        fresh_d5("check", "operator", "Relu", "--framework", "fake", "--json").code == 0
    )


def test_doctor_lists_them(fresh_d5, outside):
    outside(ADAPTER)
    answer = fresh_d5("doctor", "--budget", "0.5", "--json")
    installed = answer.json["installed"]
    assert (
        installed["plain"] == installed["reference"] and "(numpy)" in installed["plain"]
    )
    assert installed.keys() >= {"pytorch", "jax", "tensorflow", "onnxruntime", "mpi"}
    assert "fake" not in installed


def test_doctor_says_which_one_cannot_be_used(fresh_d5, outside):
    outside("import no_such_package")
    answer = fresh_d5("doctor", "--budget", "0.5")
    assert answer.code == 0
    rows = [line.split("|") for line in answer.out.splitlines() if "|" in line]
    versions = " ".join(row[2].strip() for row in rows)
    why = "the framework 'plain' cannot be used: plain_adapter: ModuleNotFoundError"
    assert why in versions
    refused = fresh_d5("check", "operator", "Relu", "--framework", "plain")
    assert (
        refused.code == 2
        and refused.err.count("\n") == 1
        and "plain_adapter" in refused.err
    )


def test_doctor_says_what_is_not_installed(fresh_d5, outside):
    outside(
        ADAPTER.replace(
            'name = "plain"', 'name, module_name = "plain", "no_such_package"'
        )
    )
    assert (
        fresh_d5("doctor", "--budget", "0.5", "--json").json["installed"]["plain"]
        is None
    )
    refused = fresh_d5("check", "operator", "Relu", "--framework", "plain")
    assert refused.err == "d5: plain is not installed: pip install no_such_package\n"


@pytest.mark.slow
def test_operators_are_measured_with_its_own_threads(fresh_d5, outside, tmp_path):
    outside(ADAPTER)
    measured = (
        "bench",
        "operator",
        "Relu",
        "--shape",
        "8x8",
        "--budget",
        "0.5",
        "--threads",
        "1",
    )
    answer = fresh_d5(
        *measured, "--framework", "reference", "plain", "--out", tmp_path / "run"
    )
    assert answer.code == 0, answer.err
    plan: Any = bundle.read(tmp_path / "run").documents["plan.json"]
    assert plan["about"]["threads"] == "1; its own on plain"
    assert "its own on plain" in answer.out


def test_a_recipe_runs_with_its_own_threads(fresh_d5, outside, tmp_path):
    outside(ADAPTER)
    recipe = """
import deep500 as d5

FIXED = {"model": "mlp", "dataset": "digits", "epochs": 2}
MUTABLE = {"batch_size": 64, "executor": "plain", "optimizer": "SGD", "optimizer_args": (0.1,)}
METRICS = [(d5.TestAccuracy(), None)]
"""
    (tmp_path / "recipe.py").write_text(recipe)
    answer = fresh_d5(
        "run", "recipe.py", "--tier", "tiny", "--seeds", 1, "--out", tmp_path / "run"
    )
    assert answer.code == 0, answer.err
    plan: Any = bundle.read(tmp_path / "run").documents["plan.json"]
    assert plan["threads"] == "its own" and plan["framework"] == "plain"
    assert fresh_d5("verify", tmp_path / "run").code == 0


class Plain(Reference):
    name = "plain"
    set_threads = Framework.set_threads


@pytest.mark.parametrize(
    "executor, threads",
    [
        ("reference", 1),
        (Reference().from_model, 1),
        (Plain().from_model, "its own"),
        (
            lambda network, **options: Plain().from_model(network),
            1,
        ),  # nobody knows whose it is
    ],
)
def test_what_a_recipe_records_of_threads(executor, threads):
    fixed = {"model": "mlp", "dataset": "digits", "epochs": 2}
    mutable = {"batch_size": 64, "executor": executor, "optimizer": "SGD"}
    assert (
        recipe_threads(Recipe("one", fixed, mutable, [(TestAccuracy(), None)]))
        == threads
    )
