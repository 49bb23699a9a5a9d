"""A user's class is identified by its name, its source and what it uses of its files, not by the path of a file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.hashing.canonical_form import canonical_form
from deep500.rerun.recipe_files import load_recipe

RECIPE = """
import numpy as np
import deep500 as d5
{imports}

SIZE = {size}


def noise():
    return {noise}


class Moons(d5.Dataset):
    def load(self):
        {inside}
        rows = np.ones((SIZE, 2), np.float32) * noise()
        return {{name: d5.Split({{"x": rows, "label": np.arange(SIZE) % 2}}) for name in ("train", "test")}}


FIXED = {{"model": "mlp", "dataset": Moons, "epochs": 2}}
MUTABLE = {{"batch_size": 4, "executor": "reference", "optimizer": d5.optimizers.SGD(0.1)}}
METRICS = [(d5.TestAccuracy(), None)]
"""


def recipe(folder: Path, name: str, **parts: Any) -> d5.Recipe:
    usual = {"imports": "", "size": 20, "noise": "0.5", "inside": "pass"}
    file = folder / name
    file.write_text(RECIPE.format(**{**usual, **parts}))
    return load_recipe(file)


def form(made: d5.Recipe) -> Any:
    return made.to_json()["fixed"]["dataset"]


def test_one_class_in_two_files_is_one_class(tmp_path: Path) -> None:
    (tmp_path / "other folder").mkdir()
    one = recipe(tmp_path, "a.py")
    two = recipe(tmp_path, "b.py")
    same_name = recipe(tmp_path / "other folder", "a.py")
    assert form(one)["name"] == "Moons"
    assert one.fixed_hash == two.fixed_hash == same_name.fixed_hash
    assert one.to_json()["fixed"] == two.to_json()["fixed"]


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        ({"size": 30}, ["SIZE"]),
        ({"noise": "0.25"}, ["noise"]),
        ({"inside": "print()"}, ["source"]),
    ],
)
def test_what_a_class_uses_belongs_to_it(
    tmp_path: Path, change: dict[str, Any], differs: list[str]
) -> None:
    one, two = recipe(tmp_path, "a.py"), recipe(tmp_path, "b.py", **change)
    assert one.fixed_hash != two.fixed_hash
    before = {**form(one)["uses"], "source": form(one)["source"]}
    after = {**form(two)["uses"], "source": form(two)["source"]}
    assert [name for name in before if before[name] != after[name]] == differs


@pytest.mark.parametrize(
    "parts",
    [
        {"imports": "import helper_of_test", "noise": "helper_of_test.WIDTH"},
        {"inside": "import helper_of_test_inside"},
    ],
)
def test_a_module_of_the_users_folder_counts(
    tmp_path: Path, parts: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    hashes = []
    for width in (16, 512):
        folder = tmp_path / str(width)
        folder.mkdir()
        for name in ("helper_of_test", "helper_of_test_inside"):
            monkeypatch.delitem(sys.modules, name, raising=False)
            (folder / f"{name}.py").write_text(f"WIDTH = {width}\n")
        monkeypatch.syspath_prepend(folder)
        hashes.append(recipe(folder, "r.py", **parts).fixed_hash)
    assert hashes[0] != hashes[1]


def test_two_files_of_one_name_keep_their_sources(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    one = recipe(folders[0], "r.py")
    before = form(one)
    recipe(folders[1], "r.py", inside="print()")
    assert form(one) == before


def test_arrays_are_recorded_by_hash() -> None:
    x = np.arange(2000.0).reshape(1000, 2)
    forms = [canonical_form(values) for values in (x, x.copy(), x + 1)]
    assert forms[0] == forms[1] != forms[2]
    assert forms[0]["array"] == "float64 (1000, 2)"
    data = d5.NumpyDataset({"x": x, "label": np.arange(1000) % 2})
    assert len(json.dumps(canonical_form(data))) < 600
    assert canonical_form(np.float32(0.5)) == 0.5


def test_a_path_is_its_text() -> None:
    event = d5.events.SaveCheckpoint(Path("a") / "b")
    assert canonical_form(event)["settings"] == {"path": "a/b", "every": None}


def test_no_message_prints_an_array() -> None:
    x = np.arange(2000.0)
    with pytest.raises(d5.Deep500Error) as refusal:
        d5.run_recipe(
            {"model": "mlp", "dataset": {"x": x}, "epochs": x},
            {},
            [(d5.TestAccuracy(), None)],
        )
    assert len(str(refusal.value)) < 200


def test_a_class_without_a_file_has_no_source() -> None:
    names: dict[str, Any] = {"__name__": "__main__", "d5": d5}
    exec("class Typed(d5.Dataset):\n    size: int = 3\n", names)
    typed = canonical_form(names["Typed"])
    assert typed == {"name": "__main__:Typed", "source": None}


def test_an_object_that_no_recipe_can_hold_is_named() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(d5.Deep500Error, match="an object of Linear, whose .* function"):
        canonical_form({"model": torch.nn.Linear(2, 2)})
