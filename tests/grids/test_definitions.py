"""Every kind of definition, in every form, for every verb that takes it: the same object, or refused in one line."""

import argparse
import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deep500 import registry
from deep500.check.codecs.loading import load_codec
from deep500.check.optimizers.subjects import load_optimizer
from deep500.check.samplers import named_sampler
from deep500.check.schemes.loading import load_scheme
from deep500.cli import main
from deep500.cli import run as run_verb
from deep500.contracts.loggp import LogGP
from deep500.contracts.recipe_entries import TABLE, definition_keys
from deep500.definition_text import KINDS, Names, definition_of
from deep500.hashing.canonical_form import canonical_form
from deep500.rerun.recipe_files import load_recipe

MODULE = """
import deep500 as d5


class Rule(d5.optimizers.Adam):
    beta: float = 0.5


class Plan(d5.schedules.Cosine):
    pass


class Together(d5.schemes.LocalSGD):
    pass


class Signs(d5.codecs.TopK):
    block: int = 3


class Graph(d5.topologies.Torus):
    pass


class Sum(d5.collectives.Ring):
    pass


class Exact(d5.reductions.PreRounded):
    pass


class Order(d5.ShuffleSampler):
    pass


class Wire(d5.LogGP):
    pass


class Ticks(d5.noises.Periodic):
    pass
"""
RECIPE = (
    MODULE
    + """

FIXED = {"model": "mlp", "model_kwargs": {"hidden": (8,)}, "dataset": "digits", "epochs": 1}
MUTABLE = {"batch_size": 512, "executor": "reference", "optimizer": "SGD", "optimizer_args": (0.1,)}
METRICS = [(d5.TestAccuracy(), None)]
"""
)
# by folder: the class in the file, the settings of both, and the text of another definition of this kind
OWN = {
    "optimizers": ("Rule", "0.02", "Adam"),
    "schedules": ("Plan", "0.02, 9", "Cosine"),
    "schemes": ("Together", "period=2", "LocalSGD"),
    "codecs": ("Signs", "0.25", "TopK"),
    "topologies": ("Graph", "rows=2", "Torus"),
    "collectives": ("Sum", "tag=7", "Ring"),
    "reductions": ("Exact", "levels=3", "PreRounded"),
    "loggp": ("Wire", "G=1e-8", "LogGP"),
    "noises": ("Ticks", "every=0.01, lasting=1e-5", "Periodic"),
    "samplers": ("Order", "batch_size=4", "ShuffleSampler"),
}
NESTED = {
    "optimizers": ["Adam({schedules})"],
    "schedules": ["WarmUp({schedules}, 5)"],
    "schemes": ["DPSGD(topology={topologies})", "AllReduce({codecs}, {collectives})"],
    "collectives": ["Reproducible({reductions})", "SparCML(network={loggp})"],
    "samplers": ["ScheduledSampler(batch_size=4, schedule={schedules})"],
}
CHAINED = {
    "optimizers": "{0} | ClipByNorm(1.0)",
    "codecs": "{0} | QSGD(bits=4)",
}


def _forms(folder: str) -> dict[str, tuple[str, bool]]:
    """Texts by the name of their form, and whether the recipe's file must bring the name."""
    own, settings, ours = OWN[folder]
    needs_settings = folder in ("schedules", "samplers")
    simple = {
        "name": (ours, False),
        "settings": (f"{ours}({settings})", False),
        "file": (f"my own/größe.py:{own}", False),
        "file with settings": (f"my own/größe.py:{own}({settings})", False),
        "recipe's own": (own, True),
        "recipe's own with settings": (f"{own}({settings})", True),
        "module": (f"d5.{folder}.{ours}({settings})", False),
    }
    if not registry.known(folder):
        del simple["module"]  # its classes are in no folder of definitions
    if needs_settings:
        for form in ("name", "file", "recipe's own"):
            del simple[form]
    forms = dict(simple)
    for form, (text, is_own) in simple.items():
        if folder in CHAINED:
            forms[f"chained {form}"] = (CHAINED[folder].format(text), is_own)
    return forms


def _nested(folder: str) -> dict[str, tuple[str, bool]]:
    forms = {}
    for pattern in NESTED.get(folder, []):
        inner = [name for name in KINDS if f"{{{name}}}" in pattern]
        choices = [_forms(name).items() for name in inner]
        for chosen in itertools.product(*choices):
            texts = {
                name: text for name, (_, (text, _)) in zip(inner, chosen, strict=True)
            }
            is_own = any(needs for _, (_, needs) in chosen)
            label = ", ".join(form for form, _ in chosen)
            forms[f"{pattern} of {label}"] = (pattern.format(**texts), is_own)
    return forms


PARSED = [
    pytest.param(folder, text, is_own, id=f"{folder}: {form}")
    for folder in KINDS
    for form, (text, is_own) in {**_forms(folder), **_nested(folder)}.items()
]
VERBS: dict[str, dict[str, Callable[[str], Any]]] = {
    "optimizers": {"check optimizer": load_optimizer},
    "schemes": {"check scheme": load_scheme},
    "codecs": {"check codec": load_codec},
    "samplers": {"check sampler": lambda text: named_sampler(text, {})},
}
OPTIONS = {"optimizer": "--optimizer", "scheme": "--scheme", "codec": "--codec"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    (tmp_path / "my own").mkdir()
    (tmp_path / "my own" / "größe.py").write_text(MODULE)
    (tmp_path / "recipe.py").write_text(RECIPE)
    return tmp_path


def _in_python(text: str, names: dict[str, Any]) -> Any:
    """What Python makes of the text, if all names are there."""
    known: dict[str, Any] = {"LogGP": LogGP}
    for folder in KINDS:
        for name in registry.known(folder):
            known[name] = registry.find(folder, name)
    return eval(text, known | names)


def test_every_kind_of_definition_is_in_the_grid() -> None:
    assert OWN.keys() == KINDS.keys()
    assert OPTIONS.keys() <= set(definition_keys())


@pytest.mark.parametrize(("kind", "text", "is_own"), PARSED)
def test_a_text_is_the_object_that_python_makes(
    folder: Path, kind: str, text: str, is_own: bool
) -> None:
    recipe = load_recipe("recipe.py")
    names = Names(recipe.definitions if is_own else {})
    made = definition_of(text, kind, names)
    for load in VERBS.get(kind, {}).values():
        if not is_own:
            assert canonical_form(load(text)) == canonical_form(made)
    # Python has no files and no bare names of classes as values, and one name for both kinds of Ring
    is_python = not re.search(r"\.py:|\.\w+\.|[A-Z]\w*(?=[,)]|$)|Ring", text)
    if is_python and "|" not in text:
        expected = _in_python(text, dict(recipe.definitions) if is_own else {})
        assert canonical_form(made) == canonical_form(expected)


@pytest.mark.parametrize("key", OPTIONS)
@pytest.mark.parametrize("way", ["option", "--set"])
def test_run_takes_every_form(folder: Path, key: str, way: str) -> None:
    recipe = load_recipe("recipe.py")
    kind = TABLE[key].folder
    for form, (text, _) in {**_forms(kind), **_nested(kind)}.items():
        words = [OPTIONS[key], text] if way == "option" else ["--set", f"{key}={text}"]
        parser = argparse.ArgumentParser()
        run_verb.arguments(parser)
        args = parser.parse_args(["recipe.py", "--ranks", "2", *words])
        changed = run_verb.changed_recipe(recipe, args)
        made = changed.make(key)
        expected = definition_of(text, kind, Names(recipe.definitions))
        assert canonical_form(made) == canonical_form(expected), form
        # what goes into the bundle names the source of a class that is not ours
        if "größe" in text:
            assert '"source": "' in json.dumps(canonical_form(changed.mutable))


WRONG = {
    "none": "none",
    "nothing": "",
    "unknown": "Nothing9",
    "unclosed": "A(1",
    "no name": "3",
    "no file": "nowhere.py:A",
    "no class": "my own/größe.py:Nothing9",
    "another kind": "my own/größe.py:Graph",
    "call": "__import__('os').system('touch x')",
    "module": "os.system('touch x')",
    "no module": "nothing_here.A(1)",
    "null": "a\0b",
    "long": "x" * 2000,
}
COMMANDS = {
    "check optimizer": ["check", "optimizer", "{0}", "--framework", "reference"],
    "check optimizer --reference": [
        "check",
        "optimizer",
        "SGD",
        "--framework",
        "reference",
        "--reference",
        "{0}",
    ],
    "check scheme": ["check", "scheme", "{0}"],
    "check codec": ["check", "codec", "{0}"],
    "check sampler": ["check", "sampler", "{0}"],
    "check collective": ["check", "collective", "{0}"],
    "run --optimizer": ["run", "recipe.py", "--optimizer", "{0}"],
    "run --scheme": ["run", "recipe.py", "--scheme", "{0}"],
    "run --codec": ["run", "recipe.py", "--codec", "{0}"],
    "run --set": ["run", "recipe.py", "--set", "optimizer={0}"],
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_text_is_refused_in_one_line(
    folder: Path, command: str, wrong: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [word.replace("{0}", WRONG[wrong]) for word in COMMANDS[command]]
    out = ["--out", str(folder / "bundle")]
    assert main([*words, *out]) == 2
    lines = capsys.readouterr().err.splitlines()
    said = [line for line in lines if line.startswith("d5: ")]
    assert len(said) == 1 and "Traceback" not in "".join(lines), lines
    assert "internal error" not in said[0]
    assert not (folder / "x").exists()


def test_a_run_with_a_class_in_a_file_is_recorded_and_resumed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = folder / "my own" / "größe.py"
    words = ["run", "recipe.py", "--seeds", "1", "--tier", "tiny", "--out", "bundle"]
    words += ["--optimizer", "my own/größe.py:Rule(0.02) | ClipByNorm(1.0)"]
    assert main([*words, "--resume"]) == 0
    plan = json.loads((folder / "bundle" / "plan.json").read_text())
    rule = plan["recipe"]["mutable"]["optimizer"]["settings"]["optimizer"]
    assert rule["definition"] == "Rule" and rule["settings"]["learning_rate"] == 0.02
    assert len(rule["source"]) == 64
    capsys.readouterr()
    assert main([*words, "--resume"]) == 0
    assert "was finished before" in capsys.readouterr().err
    file.write_text(MODULE.replace("0.5", "0.25"))
    assert main([*words, "--resume"]) == 2
    assert "was begun with another recipe or settings" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("command", ["check scheme", "check codec", "check sampler"])
def test_a_class_in_a_file_is_checked(folder: Path, command: str) -> None:
    text = {
        "check scheme": "my own/größe.py:Together(period=1)",
        "check codec": "TopK(0.5) | my own/größe.py:Signs(0.5, block=32)",
        "check sampler": "my own/größe.py:Order(4)",
    }[command]
    words = [word.replace("{0}", text) for word in COMMANDS[command]]
    assert main([*words, "--out", str(folder / "bundle")]) == 0
