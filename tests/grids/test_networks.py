"""Every kind of network x framework x verb x options, from the command line and from Python: the right outcome in each.

A new framework or option joins by itself. Quick cells run on the reference; the others are slow.
"""

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.cli import main
from deep500.contracts.framework import EXECUTIONS
from deep500.errors import Deep500Error
from deep500.frameworks import available_frameworks, framework

FRAMEWORKS = available_frameworks()
SOURCE = """
import deep500 as d5


def build(hidden=3):
    return d5.networks.Mlp(hidden=(hidden,)).build((4,), 2)


executor = d5.framework("reference").executor(build())


def run(inputs):
    return executor.inference(inputs)


def wrong(inputs):
    return {name: y + 1 for name, y in run(inputs).items()}
"""
KINDS = ("built-in", "file", "function")
BUDGET = ("--budget", "0.5", "--threads", "1", "--processes", "3")
SHOWN = {"plain": (), "batch": ("--batch", "3"), "json": ("--json",)}
CHECKED = {
    **SHOWN,
    "against": ("--against", "ENGINE:run"),
    "wrong": ("--against", "ENGINE:wrong"),
    "itself": ("--against", "NETWORK"),
}
BENCHED = {**SHOWN, "train": ("--train",), "all": ("--execution", "all")}
BENCHED |= {word: ("--execution", word) for word in EXECUTIONS}
OPTIONS = {"check": CHECKED, "show": SHOWN, "bench": BENCHED}


def cells() -> list[Any]:
    """One parameter per cell; quick are those on the reference where options and kinds meet in turn."""
    found = []
    for kind, verb, name in product(KINDS, OPTIONS, FRAMEWORKS):
        for number, option in enumerate(OPTIONS[verb]):
            is_turn = KINDS[number % len(KINDS)] == kind
            quick = is_turn and name == "reference" and verb != "bench"
            marks = [] if quick else [pytest.mark.slow]
            cell = (kind, verb, name, option)
            found.append(pytest.param(*cell, marks=marks, id="-".join(cell)))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("networks")
    (path / "mine.py").write_text(SOURCE)
    d5.networks.Mlp(hidden=(3,)).build((4,), 2).to_onnx(str(path / "mlp.onnx"))
    return path


def named(folder: Path, kind: str) -> list[str]:
    """The network as a command line names it."""
    if kind == "built-in":
        return ["mlp", "--set", "hidden=3"]
    if kind == "file":
        return [str(folder / "mlp.onnx")]
    return [f"{folder / 'mine.py'}:build"]


def expected(kind: str, verb: str, name: str, option: str) -> int:
    """The exit code."""
    if option in EXECUTIONS and option not in framework(name).executions:
        return 2
    if option == "wrong":
        # a built-in network of other sizes is not what the engine computes: that is refused
        return 1 if kind != "built-in" else 2
    if option == "against" and kind == "built-in":
        return 2
    # a function behind --against is an engine, and this one takes no inputs
    return 2 if (kind, option) == ("function", "itself") else 0


@pytest.mark.parametrize(("kind", "verb", "name", "option"), cells())
def test_command_line(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    kind: str,
    verb: str,
    name: str,
    option: str,
) -> None:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    network = named(folder, kind)
    words = []
    for word in OPTIONS[verb][option]:
        word = word.replace("ENGINE", str(folder / "mine.py"))
        words.append(word.replace("NETWORK", network[0]))
    if verb == "bench":
        words += BUDGET
    code = main([verb, "network", *network, "--framework", name, *words])
    said = capsys.readouterr()
    wanted = expected(kind, verb, name, option)
    assert code == wanted, said.err + said.out
    assert "Traceback" not in said.err + said.out
    if wanted == 2:
        last = said.err.strip().splitlines()[-1]
        assert last.startswith("d5: ") and not said.out
    if option == "json":
        assert json.loads(said.out)
    if verb == "bench" and wanted == 0:
        ways = framework(name).executions
        shown = option if option in EXECUTIONS else ways[0]
        assert f"{name} {shown}" in said.out


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name != "reference"))
        for name in FRAMEWORKS
    ],
)
def test_python(folder: Path, name: str) -> None:
    network = d5.Network.from_onnx(str(folder / "mlp.onnx"))
    assert d5.check_network(network, [name]).ok
    assert d5.check_network(network, [name], dimensions={"batch": 3}).ok
    engine = f"{folder / 'mine.py'}:run"
    assert d5.check_network(network, [name], against=engine).ok
    assert not d5.check_network(network, [name], against=engine.replace("run", "wrong"))
    costs = d5.network_costs(network, batch=3, framework=name)
    assert costs.parameters == 4 * 3 + 3 + 3 * 2 + 2


def models() -> dict[str, tuple[str, Any, dict[str, Any]]]:
    """A model of every framework that wraps its own: the framework, the model and its options."""
    found: dict[str, tuple[str, Any, dict[str, Any]]] = {}
    if "pytorch" in FRAMEWORKS:
        import torch

        found["torch module"] = ("pytorch", torch.nn.Linear(4, 2), {})
    if "jax" in FRAMEWORKS:
        params = {"w": np.ones((4, 2), "float32")}
        function = lambda params, x: x @ params["w"]  # noqa: E731
        found["JAX function"] = ("jax", function, {"params": params})
    return found


QUICK = ("reference", "pytorch", "jax")  # others take seconds to import


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name not in QUICK))
        for name in FRAMEWORKS
    ],
)
def test_models_of_frameworks(name: str) -> None:
    """Each runs on its own framework in every way that it has, and is one line on the others."""
    for owner, model, options in models().values():
        if name != owner:
            with pytest.raises(Deep500Error) as caught:
                framework(name).from_model(model, **options)
            assert "\n" not in str(caught.value)
            continue
        for way in set(framework(name).executions) - {"compiled"}:
            executor = framework(name).from_model(model, execution=way, **options)
            argument = "x" if owner == "jax" else "input"
            outputs = executor.inference({argument: np.ones((3, 4), "float32")})
            assert [tuple(y.shape) for y in outputs.values()] == [(3, 2)]
