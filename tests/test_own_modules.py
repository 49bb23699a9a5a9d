"""Files in two folders that import modules of the same name: each gets its own."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.import_address import at_address, import_address
from deep500.rerun.recipe_files import load_recipe
from deep500.user_files import imported

HELPER = """
import constants  # beside it as well

FACTOR = {factor}


def scaled(x):
    return constants.SIGN * FACTOR * x


class Marker:
    pass
"""
OPERATOR = """
import deep500 as d5
import helper
from helper import FACTOR


class Scaled(d5.Operator):
    def forward(self, xp, x):
        import helper as later

        assert later is helper
        return later.scaled(x)

    def backward(self, xp, dy, x):
        return helper.scaled(dy)


class Step(d5.Optimizer):
    def update(self, xp, param, grad, state, step):
        from helper import scaled

        return param - 0.01 * scaled(grad), {}


def twice(x):
    import helper

    return helper.scaled(x)
"""
RECIPE = """
import numpy as np
import deep500 as d5
from helper import FACTOR
from operators import Step


class Points(d5.Dataset):
    def load(self):
        import helper

        x = np.full((20, 2), helper.FACTOR, np.float32)
        return {name: d5.Split({"x": x, "label": np.arange(20) % 2}) for name in ("train", "validation", "test")}


FIXED = {"model": "mlp", "dataset": Points, "epochs": 1}
MUTABLE = {"batch_size": 4, "executor": "reference", "optimizer": Step()}
METRICS = [(d5.TestAccuracy(), None)]
"""
FACTORS = {"one": 2, "two": 5}


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    made = {}
    for name, factor in FACTORS.items():
        folder = made[name] = tmp_path / name
        folder.mkdir()
        (folder / "helper.py").write_text(HELPER.format(factor=factor))
        (folder / "constants.py").write_text("SIGN = 1\n")
        (folder / "operators.py").write_text(OPERATOR)
        (folder / "recipe.py").write_text(RECIPE)
    return made


def test_files_of_two_folders(folders: dict[str, Path]) -> None:
    modules = {
        name: imported(folder / "operators.py") for name, folder in folders.items()
    }
    for name, factor in FACTORS.items():
        module = modules[name]
        assert module.FACTOR == factor
        assert module.helper.FACTOR == factor
        assert module.twice(1.0) == factor  # imported when it is called
    assert "helper" not in sys.modules


def test_the_same_module_for_every_file_of_a_folder(folders: dict[str, Path]) -> None:
    one = imported(folders["one"] / "operators.py")
    (folders["one"] / "more.py").write_text("import helper, operators\n")
    more = imported(folders["one"] / "more.py")
    assert more.helper is one.helper
    assert more.operators is one


def test_another_process_finds_what_a_neighbour_defines(
    folders: dict[str, Path],
) -> None:
    for folder in folders.values():
        marker = imported(folder / "operators.py").helper.Marker
        address = import_address(marker)
        assert address is not None and address[2] == str(folder / "helper.py")
        assert at_address(address) is marker


@pytest.mark.parametrize("first", FACTORS)
def test_recipes_of_two_folders(folders: dict[str, Path], first: str) -> None:
    order = [first, *(name for name in FACTORS if name != first)]
    recipes = {name: load_recipe(folders[name] / "recipe.py") for name in order}
    for name, factor in FACTORS.items():
        fixed = recipes[name].fixed
        assert fixed["dataset"]().load()["train"].arrays["x"][0, 0] == factor
    assert recipes["one"].fixed_hash != recipes["two"].fixed_hash
    again = load_recipe(folders["one"] / "recipe.py")
    assert again.fixed_hash == recipes["one"].fixed_hash


def test_operators_of_two_folders_in_child_processes(folders: dict[str, Path]) -> None:
    for name, factor in FACTORS.items():
        cls = imported(folders[name] / "operators.py").Scaled
        x = np.arange(3.0)
        [y] = d5.evaluate(cls(), [x])
        np.testing.assert_array_equal(y, factor * x)
        report = d5.check_operator(
            cls(), "reference", [x], reference=REFERENCES[name], dtypes="float64"
        )
        forward = [check.ok for check in report.checks if check.name == "forward"]
        assert forward and all(forward)


def by_two(x: Any) -> Any:
    return 2 * x


def by_five(x: Any) -> Any:
    return 5 * x


REFERENCES = {"one": by_two, "two": by_five}


def test_optimizers_of_two_folders_are_resumed_in_new_processes(
    folders: dict[str, Path],
) -> None:
    for name, factor in FACTORS.items():
        text = f"{folders[name] / 'operators.py'}:Step"
        reference = f"SGD({0.01 * factor})"
        assert d5.check_optimizer(text, "reference", reference=reference, steps=3)
    assert not d5.check_optimizer(
        f"{folders['two'] / 'operators.py'}:Step",
        "reference",
        reference="SGD(0.02)",
        steps=3,
    )


def test_a_module_that_the_script_imported_is_not_taken(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    script = tmp_path / "script.py"
    (tmp_path / "helper.py").write_text("FACTOR = 100\n")
    script.write_text(
        "from pathlib import Path\nimport helper\nfrom deep500.user_files import imported\n"
        f"print(imported(Path({str(folders['one'])!r}) / 'operators.py').FACTOR)\n"
        "import helper as again\nprint(again is helper, helper.FACTOR)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split() == ["2", "True", "100"], done.stderr


def test_files_that_import_each_other(tmp_path: Path) -> None:
    (tmp_path / "left.py").write_text("import right\n\nA = 1\n")
    (tmp_path / "right.py").write_text("import left\n\n\ndef a():\n    return left.A\n")
    left = imported(tmp_path / "left.py")
    assert left.right.a() == 1


def test_what_is_installed_comes_first(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("raise RuntimeError\n")
    (tmp_path / "json.py").write_text("raise RuntimeError\n")
    (tmp_path / "user.py").write_text("import json, numpy\n")
    assert imported(tmp_path / "user.py").numpy is np


def test_a_neighbour_that_fails_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("\n1 / 0\n")
    (tmp_path / "user.py").write_text("import broken\n")
    with pytest.raises(d5.Deep500Error, match=r"broken.py cannot be imported: Zero"):
        imported(tmp_path / "user.py")


def test_a_neighbour_that_changed_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "part.py").write_text("A = 1\n")
    (tmp_path / "whole.py").write_text("import part\n")
    assert imported(tmp_path / "whole.py").part.A == 1
    (tmp_path / "part.py").write_text("A = 22\n")
    (tmp_path / "whole.py").write_text("import part  # again\n")
    assert imported(tmp_path / "whole.py").part.A == 22


PACKAGE_USER = """
import bundled.sub
from bundled import FACTOR
from bundled.sub import Marker, factor

KEPT = bundled.sub
"""


def test_packages_of_one_name_in_two_folders_are_two(tmp_path: Path) -> None:
    for factor in (2, 3):
        package = tmp_path / str(factor) / "bundled"
        package.mkdir(parents=True)
        package.joinpath("__init__.py").write_text(f"FACTOR = {factor}\n")
        package.joinpath("sub.py").write_text(
            "import bundled\nfrom . import FACTOR\n\n\n"
            "class Marker:\n    pass\n\n\ndef factor():\n    return FACTOR, bundled.FACTOR\n"
        )
        for name in ("user", "another"):
            package.with_name(f"{name}.py").write_text(PACKAGE_USER)
    users = {factor: imported(tmp_path / str(factor) / "user.py") for factor in (2, 3)}
    later = {
        factor: imported(tmp_path / str(factor) / "another.py") for factor in (3, 2)
    }
    for factor, user in users.items():
        assert user.FACTOR == factor
        assert user.factor() == (factor, factor)
        assert later[factor].KEPT is user.KEPT
        assert later[factor].Marker is user.Marker
    assert users[2].Marker is not users[3].Marker
