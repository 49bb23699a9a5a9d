"""Own and shipped recipes: every way to write a part x framework x verb x option, by command and in Python.

Each cell asserts the exit code, one line for what is refused, and no traceback. A seeded sample runs in the quick set.
"""

import contextlib
import io
import itertools
import random
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import deep500 as d5
from deep500.cli import main
from deep500.frameworks import available_frameworks, framework
from deep500.rerun.recipe_files import known_recipes, load_recipe

FRAMEWORKS = [name for name in available_frameworks() if framework(name).trains]

DEFINITIONS = """
import numpy as np
import deep500 as d5
from deep500.contracts.metric import Metric
from deep500.tasks import Classification

x = np.random.default_rng(0).standard_normal((60, 2)).astype(np.float32)
label = (x[:, 0] > 0).astype(np.int64)


class Own(d5.Dataset):
    classes = 2

    def load(self):
        rows = {"train": slice(0, 40), "validation": slice(40, 50), "test": slice(50, 60)}
        return {n: d5.Split({"x": x[r], "label": label[r]}) for n, r in rows.items()}


def own():
    return Own()


def arrays():
    return d5.NumpyDataset({"x": x, "label": label})


class Net(d5.Model):
    width: int = 4

    def build(self, shape, outputs, seed=0):
        return d5.networks.Mlp((self.width,)).build(shape, outputs, seed)


def net(shape, outputs, seed):
    return Net().build(shape, outputs, seed)


def module(shape, outputs):
    import torch

    return torch.nn.Sequential(torch.nn.Linear(*shape, 4), torch.nn.Tanh(), torch.nn.Linear(4, outputs))


class Judge(Classification):
    pass


def judge():
    return Judge()


class LossDrop(Metric):
    kind = "ratio"
    unit = "x"

    def value(self, history):
        return history.losses[0] / history.losses[-1]


class Counter(d5.events.Event):
    def after_step(self, trainer, outputs):
        trainer.record("one", 1.0)
"""
INTERRUPT = '''
from pathlib import Path


class Interrupt(d5.events.Event):
    """Ctrl-C after the first epoch, once."""

    def after_epoch(self, trainer, record):
        if not Path(MARK).exists():
            Path(MARK).write_text("")
            raise KeyboardInterrupt


MUTABLE["events"] = [*MUTABLE.get("events", ()), Interrupt()]
MUTABLE["events"][-1].order = 3
'''
# part -> how it is given -> the expression; {own} is "" or the module with the definitions
WAYS = {
    "dataset": {
        "class": '"dataset": {own}Own',
        "instance": '"dataset": {own}Own()',
        "name": '"dataset": "Own"',
        "function": '"dataset": {own}own',
    },
    "arrays": {
        "class": '"dataset": d5.NumpyDataset, "dataset_args": ({{"x": {own}x, "label": {own}label}},)',
        "instance": '"dataset": d5.NumpyDataset({{"x": {own}x, "label": {own}label}})',
        "function": '"dataset": {own}arrays',
    },
    "network": {
        "class": '"model": {own}Net, "model_kwargs": {{"width": 3}}',
        "instance": '"model": {own}Net(3)',
        "name": '"model": "Net"',
        "function": '"model": {own}net',
    },
    "module": {"function": '"model": {own}module', "name": '"model": "module"'},
    "task": {
        "class": '"task": {own}Judge',
        "instance": '"task": {own}Judge()',
        "name": '"task": "Judge"',
        "function": '"task": {own}judge',
    },
    "metric": {
        "class": "({own}LossDrop, None)",
        "instance": "({own}LossDrop(), None)",
        "name": '("LossDrop", None)',
    },
    "event": {"instance": '"events": [{own}Counter()]'},
}
VERBS = {
    "run": ["", "--optimizer 'Adam(0.01)'", "--seeds 2", "--tier small", "--json"],
    "resume": ["", "--optimizer 'Adam(0.01)'", "--seeds 2"],
    "verify": ["", "--json"],
    "replay": [""],
    "show": ["", "--json"],
    "reproduce": [""],
    "python": [""],
}


@dataclass(frozen=True)
class Cell:
    part: str
    given: str
    place: str  # of the definitions: the recipe's own file, or a module beside it
    framework: str
    verb: str
    option: str

    def __str__(self) -> str:
        words = [self.part, self.given, self.place, self.framework, self.verb]
        return "-".join([*words, *self.option.split()[:1]])


def cells() -> list[Cell]:
    """Every part, way, framework and verb; a module for the verbs that find code again, options for one way each."""
    found = []
    for part, ways in WAYS.items():
        first, *_ = ways
        for given, name, verb in itertools.product(ways, FRAMEWORKS, VERBS):
            options = VERBS[verb] if given == first else [""]
            for option in options:
                found.append(Cell(part, given, "same file", name, verb, option))
            # a name is one of the recipe's own file
            if given != "name" and verb in ("run", "show", "replay"):
                found.append(Cell(part, given, "module", name, verb, ""))
    return found


CELLS = cells()
QUICK = [cell for cell in CELLS if cell.framework in ("reference", "pytorch")]
SAMPLE = random.Random(181).sample(QUICK, 10)  # every part and every verb is in it


def command(*words: str) -> tuple[int, str, list[str]]:
    """The exit code, the output and the complaints of a command; hints about a busy machine are none."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(words))
    complaints = []
    for line in err.getvalue().splitlines():
        # of a busy machine, and the progress of a run
        if line.startswith("d5:"):
            complaints.append(line)
    assert "Traceback" not in out.getvalue() + err.getvalue()
    assert "internal error" not in err.getvalue()
    return code, out.getvalue(), complaints


def write_recipe(folder: Path, cell: Cell) -> Path:
    """A recipe with one part of the user's own, written in the way of the cell; all else is ours."""
    module = f"own_{abs(hash((str(folder), cell)))}"
    own = ""
    head = DEFINITIONS
    if cell.place == "module":
        (folder / f"{module}.py").write_text(DEFINITIONS)
        head, own = f"import deep500 as d5\nimport {module}\n", f"{module}."
    entry = WAYS[cell.part][cell.given].format(own=own)
    parts = {
        "dataset": '"dataset": d5.datasets.SyntheticClassification(size=60, features=2, classes=2)',
        "model": '"model": d5.networks.Mlp((4,))',
        "task": "",
        "events": "",
        "metric": "(d5.TestAccuracy(), None)",
    }
    key = {
        "arrays": "dataset",
        "network": "model",
        "module": "model",
        "event": "events",
    }
    parts[key.get(cell.part, cell.part)] = entry
    text = (
        f"{head}\n"
        f"FIXED = {{{parts['model']}, {parts['dataset']}, {parts['task'] or '**{}'}, 'epochs': 3}}\n"
        f"MUTABLE = {{'batch_size': 10, 'executor': {cell.framework!r}, 'optimizer': d5.optimizers.SGD(0.1), "
        f"{parts['events'] or '**{}'}}}\n"
        f"METRICS = [{parts['metric']}]\n"
        "TIERS = {'tiny': {'seeds': 1, 'epochs': 2}, 'small': {'seeds': 2, 'epochs': 3}}\n"
    )
    if cell.verb == "resume":
        text += f"MARK = {str(folder / 'interrupted')!r}\n{INTERRUPT}"
    file = folder / "own recipe.py"
    file.write_text(text)
    return file


def check(cell: Cell, folder: Path) -> None:
    file = str(write_recipe(folder, cell))
    option = shlex.split(cell.option)
    out = str(folder / "bundle")
    run = ["run", file, "--tier", "tiny", "--out", out]
    if cell.part == "module" and cell.framework != "pytorch" and cell.verb != "show":
        refuse_module(cell, file, run)
        return
    if cell.verb == "run":
        code, _, complaints = command(*run, *option)
        assert (code, complaints) == (0, [])
    elif cell.verb == "resume":
        resume(run, option)
    elif cell.verb == "python":
        recipe = load_recipe(file)
        outcome = d5.run_recipe(
            recipe.fixed, recipe.mutable, recipe.metrics, folder=out, tier="tiny"
        )
        assert outcome and outcome.trained
    elif cell.verb == "show":
        code, text, complaints = command("show", "recipe", file, *option)
        assert (code, complaints) == (0, []) and len(text) < 20_000
    else:
        assert command(*run, "--seeds", "1")[0] == 0
        words = {
            "verify": ["verify", out, *option],
            "replay": ["verify", out, "--replay", "--recipe", file],
            "reproduce": ["reproduce", out, "--recipe", file, "--out", out + " 2"],
        }[cell.verb]
        code, text, complaints = command(*words)
        assert (code, complaints) == (0, []), text
        if cell.verb == "replay":
            assert "\nreplayed: " in text


def refuse_module(cell: Cell, file: str, run: list[str]) -> None:
    """A module of PyTorch is for PyTorch alone: one line that says so."""
    if cell.verb == "python":
        recipe = load_recipe(file)
        with pytest.raises(d5.Deep500Error):
            d5.run_recipe(recipe.fixed, recipe.mutable, recipe.metrics, folder=run[-1])
        return
    code, _, complaints = command(*run)
    assert code == 2 and len(complaints) == 1
    assert "cannot be read" not in complaints[0]


def resume(run: list[str], option: list[str]) -> None:
    """Ctrl-C after the first epoch, then the command that was printed."""
    code, _, [complaint] = command(*run, *option)
    assert code == 130 and complaint.startswith("d5: interrupted; go on with `d5 run")
    words = shlex.split(complaint.split("`")[1])
    code, _, complaints = command(*words[1:])
    assert (code, complaints) == (0, [])


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))


@pytest.mark.parametrize("cell", SAMPLE, ids=str)
def test_a_sample_of_own_recipes(cell: Cell, tmp_path: Path) -> None:
    check(cell, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_own_recipes(cell: Cell, tmp_path: Path) -> None:
    check(cell, tmp_path)


# Shipped recipes


@pytest.mark.parametrize("name", known_recipes())
def test_shipped_recipes_are_shown(name: str) -> None:
    code, _, complaints = command("show", "recipe", name, "--tier", "tiny")
    assert (code, complaints) == (0, [])


@pytest.mark.slow
@pytest.mark.parametrize("framework_name", FRAMEWORKS)
@pytest.mark.parametrize("name", known_recipes())
def test_shipped_recipes_run(name: str, framework_name: str, tmp_path: Path) -> None:
    run = ["run", name, "--tier", "tiny", "--seeds", "1", "--out", str(tmp_path / "b")]
    code, _, complaints = command(*run, "--framework", framework_name)
    if code == 2:  # its files are not here, or the framework lacks an operator
        assert len(complaints) == 1
    else:
        assert code in (0, 1) and complaints == []
        assert command("verify", str(tmp_path / "b"))[0] == 0


# Wrong data and wrong code: one line each, on every framework

WRONG = {
    "short labels": ("label = label[:57]", "every array has one entry"),
    "NaN in train": ("x[3, 1] = np.nan", "'train' holds 1 number.*row 3"),
    "NaN in validation": ("x[43, 1] = np.inf", "'validation' holds 1 number.*row 3"),
    "NaN in test": ("x[54, 1] = -np.inf", "'test' holds 1 number.*row 4"),
    "a label beyond the classes": ("label[7] = 7", "goes from 0 to 7.*row 7 has 7"),
    "a negative label": ("label[7] = -1", "goes from -1 to 1"),
    "one large label": ("label[7] = 51; Own.classes = 0", "goes up to 51"),
    "a batch of too many": ("BATCH = 41", "batch_size is 41, and there are 40"),
    "an empty split": (
        "x = x[:50]; label = label[:50]",
        "no split 'test' with examples",
    ),
    "labels of text": (
        "label = label.astype(str)",
        "'label' .*integer numbers are needed",
    ),
    "load returns a tuple": ("Own.load = lambda self: (x, label)", "returns a tuple"),
    "load returns arrays": (
        "Own.load = lambda self: {'train': x}",
        "a ndarray as 'train'",
    ),
    "load returns nothing": ("Own.load = lambda self: None", "returns a NoneType"),
    "load raises": (
        "Own.load = lambda self: 1 / 0",
        r"own recipe.py, line \d+.*ZeroDivisionError",
    ),
    "load ends the program": (
        "Own.load = lambda self: exit(3)",
        r"own recipe.py, line \d+.*SystemExit",
    ),
    "the constructor raises": (
        "Own.__init__ = lambda self: 1 / 0",
        r"ZeroDivisionError.*own recipe.py, line \d+",
    ),
    "the file raises": ("1 / 0", r"ZeroDivisionError.*own recipe.py, line \d+"),
    "the file ends the program": (
        "raise SystemExit(0)",
        r"SystemExit.*own recipe.py, line \d+",
    ),
    "the file does not parse": ("def (", r"SyntaxError.*own recipe.py, line \d+"),
}
NOT_IN_PYTHON = (
    "the file raises",
    "the file ends the program",
    "the file does not parse",
)


def write_wrong(folder: Path, mistake: str, name: str) -> Path:
    file = folder / "own recipe.py"
    file.write_text(
        f"{DEFINITIONS}\nBATCH = 10\n{mistake}\n"
        f"FIXED = {{'model': 'mlp', 'dataset': Own, 'epochs': 2}}\n"
        f"MUTABLE = {{'batch_size': BATCH, 'executor': {name!r}, 'optimizer': d5.optimizers.SGD(0.1)}}\n"
        "METRICS = [(d5.TestAccuracy(), None)]\n"
    )
    return file


@pytest.mark.parametrize("framework_name", FRAMEWORKS)
@pytest.mark.parametrize("mistake", WRONG)
def test_mistakes_are_one_line(
    mistake: str, framework_name: str, tmp_path: Path
) -> None:
    import re

    code_of_mistake, says = WRONG[mistake]
    file = write_wrong(tmp_path, code_of_mistake, framework_name)
    code, _, complaints = command("run", str(file), "--out", str(tmp_path / "b"))
    assert code == 2 and len(complaints) == 1, complaints
    assert re.search(says, complaints[0]), complaints[0]
    assert len(complaints[0]) < 500 and not (tmp_path / "b").exists()


@pytest.mark.parametrize("framework_name", FRAMEWORKS)
@pytest.mark.parametrize("mistake", [m for m in WRONG if m not in NOT_IN_PYTHON])
def test_mistakes_are_one_line_in_python(
    mistake: str, framework_name: str, tmp_path: Path
) -> None:
    code_of_mistake, says = WRONG[mistake]
    recipe: Any = load_recipe(write_wrong(tmp_path, code_of_mistake, framework_name))
    with pytest.raises(d5.Deep500Error, match=says):
        d5.run_recipe(
            recipe.fixed, recipe.mutable, recipe.metrics, folder=tmp_path / "b"
        )
