"""FIXED is what it does: the user's files behind it are hashed, and comparisons say when they differ."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deep500 import cli
from deep500.bundle import read
from deep500.bundle.records.verification import verify
from deep500.contracts.recipe import Recipe
from deep500.errors import Deep500Error
from deep500.rerun.recipe_files import known_recipes, load_recipe
from deep500.rerun.recipe_runner import run
from deep500.rerun.reproduction import reproduce

RECIPE = """
import deep500 as d5
IMPORT

class Net(d5.Model):
    def build(self, shape, outputs, seed=0):
        return d5.networks.Mlp((WIDTH,)).build(shape, outputs, seed)


FIXED = {"model": Net, "dataset": "digits", "epochs": 2}
MUTABLE = {"batch_size": 512, "executor": "reference", "optimizer": d5.optimizers.SGD(0.1)}
METRICS = [(d5.TestAccuracy(), None), (d5.Throughput(), None)]
"""
# how a recipe may come by the width of its network, which is that of another file
WAYS = {
    "from": ("from own_helper import width", "width()"),
    "module": ("import own_helper", "own_helper.width()"),
    "value": ("from own_helper import WIDTH", "WIDTH"),
    "renamed": ("from own_helper import WIDTH as size", "size"),
    "star": ("from own_helper import *", "width()"),
    "function": ("", "__import__('own_helper').width()"),
    "text": ("import importlib", "importlib.import_module('own_helper').width()"),
    "getattr": ("import own_helper", "getattr(own_helper, 'wid' + 'th')()"),
    "instance": ("from own_helper import SIZES", "SIZES.width()"),
    "package": ("from own_package.inner import width", "width()"),
    "deeper": ("from own_between import width", "width()"),
}
HELPER = """
WIDTH = SIZE


def width():
    return WIDTH


class Sizes:
    def width(self):
        return WIDTH


SIZES = Sizes()
"""


def write(folder: Path, way: str, size: int) -> Path:
    line, width = WAYS[way]
    (folder / "own_package").mkdir(parents=True, exist_ok=True)
    (folder / "own_package" / "__init__.py").write_text("")
    (folder / "own_package" / "inner.py").write_text(
        HELPER.replace("SIZE", str(size), 1)
    )
    (folder / "own_helper.py").write_text(HELPER.replace("SIZE", str(size), 1))
    (folder / "own_between.py").write_text("from own_helper import width\n")
    path = folder / "net.py"
    path.write_text(RECIPE.replace("IMPORT", line).replace("WIDTH,", f"{width},"))
    return path


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every test begins in a process that has imported none of these files."""
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys, "path", sys.path.copy())
    yield
    forget()


def forget() -> None:
    for name in [*sys.modules]:
        if name.startswith("own_"):
            del sys.modules[name]


def loaded(folder: Path, way: str, size: int, monkeypatch: Any) -> Recipe:
    """The recipe of a folder, as another process would load it."""
    forget()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "path", [p for p in sys.path if "own" not in Path(p).name])
        recipe = load_recipe(write(folder, way, size))
        recipe.make("model").build((1, 8, 8), 10)  # what is imported late is now loaded
        assert recipe.hash and recipe.own_code is not None
    return recipe


@pytest.mark.parametrize("way", WAYS)
def test_another_imported_file_is_another_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    one = loaded(tmp_path / "own1", way, 16, monkeypatch)
    same = loaded(tmp_path / "own2", way, 16, monkeypatch)
    other = loaded(tmp_path / "own3", way, 512, monkeypatch)
    assert one.hash == same.hash and one.fixed_hash == same.fixed_hash
    assert one.source == other.source, "the recipe's file is the same"
    assert one.hash != other.hash
    assert one.own_code["files"].keys() == other.own_code["files"].keys()
    if way not in ("function", "text"):  # names in texts belong to nobody in particular
        assert one.fixed_hash != other.fixed_hash


def test_files_of_mutable_entries_are_not_those_of_fixed(tmp_path: Path) -> None:
    path = write(tmp_path, "value", 16)
    (tmp_path / "own_optimizer.py").write_text("RATE = 0.1\n")
    text = path.read_text().replace("SGD(0.1)", "SGD(own_optimizer.RATE)")
    path.write_text(
        text.replace("import deep500", "import own_optimizer\nimport deep500", 1)
    )
    code = load_recipe(path).own_code
    assert {*code["files"]} == {"own_helper.py", "own_optimizer.py"}
    assert {*code["fixed"]} == {"own_helper.py"}


@pytest.mark.parametrize("folder", ["site-packages", "dist-packages", "packages"])
def test_installed_packages_are_not_the_users(tmp_path: Path, folder: str) -> None:
    """Wherever they are installed: --user, another environment, Debian's; a folder of another name is the user's."""
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "own_installed.py").write_text("RATE = 0.1\n")
    sys.path.append(str(tmp_path / folder))
    path = write(tmp_path, "value", 16)
    recipe = path.read_text().replace("SGD(0.1)", "SGD(own_installed.RATE)")
    path.write_text(f"import own_installed\n{recipe}")
    files = {*load_recipe(path).own_code["files"]}
    installed = folder != "packages"
    assert files == {"own_helper.py"} | (
        set() if installed else {f"{folder}/own_installed.py"}
    )


def test_our_recipes_have_no_own_code() -> None:
    for name in known_recipes():
        assert load_recipe(name).own_code == {}, name


def test_compare_reproduce_resume_and_replay_see_a_changed_helper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    for name, size in (("a", 16), ("b", 512)):
        recipe = loaded(tmp_path / f"own_{name}", "getattr", size, monkeypatch)
        run(recipe, tmp_path / name, seeds=3)
        assert verify(tmp_path / name).ok
    plan: Any = read(tmp_path / "a").documents["plan.json"]
    assert [*plan["recipe"]["code"]["files"]] == ["own_helper.py"]
    capsys.readouterr()
    cli.main(["compare", str(tmp_path / "a"), str(tmp_path / "b")])
    said = " ".join(capsys.readouterr().out.split())
    assert "own files that they come from differ (own_helper.py)" in said
    assert "FIXED and MUTABLE are the same in both." not in said
    other = tmp_path / "own_b" / "net.py"
    with pytest.raises(Deep500Error, match="imported file own_helper.py is another"):
        reproduce(tmp_path / "a", other, tmp_path / "again")
    with pytest.raises(Deep500Error, match="another recipe or settings"):
        run(load_recipe(other), tmp_path / "a", seeds=3, resume=True)
    words = ["verify", str(tmp_path / "a"), "--replay", "--recipe", str(other)]
    assert cli.main(words) == 2
    assert (
        "is not the file that the recipe of this bundle imports"
        in capsys.readouterr().err
    )
    honest = tmp_path / "own_a" / "net.py"
    forget()
    monkeypatch.syspath_prepend(tmp_path / "own_a")
    assert cli.main([*words[:-1], str(honest)]) == 0


def test_a_changed_recipe_file_with_equal_entries_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """As when a file patches something of ours while it is read."""
    path = write(tmp_path / "own_c", "value", 16)
    run(load_recipe(path), tmp_path / "a", seeds=3)
    path.write_text(path.read_text() + "\nd5.Trainer.patched = True\n")
    try:
        run(load_recipe(path), tmp_path / "b", seeds=3)
    finally:
        import deep500

        del deep500.Trainer.patched  # type: ignore[attr-defined]
    capsys.readouterr()
    cli.main(["compare", str(tmp_path / "a"), str(tmp_path / "b")])
    said = " ".join(capsys.readouterr().out.split())
    assert "but own code differs (the recipe's file)" in said
