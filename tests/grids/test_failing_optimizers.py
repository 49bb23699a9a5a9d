"""Optimizers of a user that fail: one line with the file and the line of the code, in training and in every check."""

from pathlib import Path

import pytest

import deep500 as d5
from deep500.cli import main
from deep500.frameworks import available_frameworks

SOURCE = """
import deep500 as d5
from deep500.contracts.optimizer import Optimizer


class Update(Optimizer):
    learning_rate: float = 0.1

    def update(self, xp, param, grad, state, step):
        return param - grad / {}["oops"], state


class Init(Update):
    def init(self, xp, param):
        raise ValueError("no state today")


class Missing(Update):
    def update(self, xp, param, grad, state, step):
        return param - xp.sqroot(grad), state


class Rule(d5.UpdateRuleOptimizer):
    def update_rule(self, grad, old_param, param_name):
        return old_param - self.rate * grad


class Prepare(d5.ThreeStepOptimizer):
    def prepare_param(self, param_name):
        return 1 / 0


class NewInput(d5.ThreeStepOptimizer):
    def new_input(self):
        return [1, 2][3]


class Shape(Update):
    def update(self, xp, param, grad, state, step):
        return xp.sum(param), state
"""
# the class, and what is said of it
FAILURES = {
    "Update": "Update.update (failing.py, line 10) raised KeyError: 'oops'",
    "Init": "no state today",
    "Missing": "has no attribute 'sqroot'",
    "Rule": "Rule.update_rule (failing.py, line 25) raised AttributeError",
    "Prepare": "Prepare.prepare_param (failing.py, line 30) raised ZeroDivisionError",
    "NewInput": "NewInput.new_input (failing.py, line 35) raised IndexError",
    "Shape": "update of Shape returns () for a parameter of the shape",
}
QUICK = {("Update", "jax"), ("Rule", "reference")}
GRID = [
    pytest.param(
        name, framework, marks=[pytest.mark.slow] * ((name, framework) not in QUICK)
    )
    for name in FAILURES
    for framework in available_frameworks()
]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    path = tmp_path / "failing.py"
    path.write_text(SOURCE)
    return path


def last_line(capsys: pytest.CaptureFixture[str]) -> str:
    said = capsys.readouterr().err
    assert "Traceback" not in said and "internal error" not in said
    return said.strip().splitlines()[-1]


@pytest.mark.parametrize(("name", "framework"), GRID)
def test_training_names_the_line(
    file: Path, capsys: pytest.CaptureFixture[str], name: str, framework: str
) -> None:
    words = ["run", "digits_mlp", "--tier", "tiny", "--seeds", "1", "--threads", "1"]
    words += ["--framework", framework, "--optimizer", f"{file}:{name}"]
    assert main(words) == 2
    said = last_line(capsys)
    assert said.startswith("d5: ") and FAILURES[name] in said
    assert name == "Shape" or "failing.py, line " in said


@pytest.mark.parametrize(("name", "framework"), GRID)
def test_the_check_of_a_network_names_the_line(
    file: Path, capsys: pytest.CaptureFixture[str], name: str, framework: str
) -> None:
    words = ["check", "network", "mlp", "--set", "hidden=[4]"]
    words += ["--framework", framework, "--optimizer", f"{file}:{name}"]
    assert main(words) == 2
    said = last_line(capsys)
    assert said.startswith("d5: ") and FAILURES[name] in said


@pytest.mark.parametrize(("name", "framework"), GRID)
def test_the_check_of_the_optimizer_itself_is_wrong(
    file: Path, capsys: pytest.CaptureFixture[str], name: str, framework: str
) -> None:
    words = ["check", "optimizer", f"{file}:{name}", "--framework", framework]
    assert main([*words, "--steps", "3"]) == 1
    assert FAILURES[name] in capsys.readouterr().out


def test_the_same_in_python(file: Path) -> None:
    network = d5.networks.Mlp(hidden=(4,)).build((5,), 3)
    with pytest.raises(d5.Deep500Error, match=r"Rule.update_rule \(failing.py, line"):
        d5.check_network(network, "reference", optimizer=f"{file}:Rule")


@pytest.mark.slow
def test_a_kernel_of_ones_own_that_fails_on_its_framework_only(file: Path) -> None:
    method = '    def pytorch(self, *args):\n        raise RuntimeError("mine")\n'
    update = "    def update(self, xp, param, grad, state, step):\n        return param, {}\n"
    file.write_text(
        f"from deep500 import Optimizer\n\nclass Kernel(Optimizer):\n{update}\n{method}"
    )
    network = d5.networks.Mlp(hidden=(4,)).build((5,), 3)
    report = d5.check_network(
        network, ["reference", "pytorch"], optimizer=f"{file}:Kernel"
    )
    assert [side.verdict for side in report.reports] == ["ok", "wrong"]
    assert "in Kernel.pytorch (failing.py, line 8)" in report.text
