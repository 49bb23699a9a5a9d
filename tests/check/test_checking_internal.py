"""An exception in Deep500's own code is an internal error, with exit code 70, and never a verdict about an operator."""

from pathlib import Path

import pytest

import deep500 as d5
from deep500.check.operators import checks
from deep500.cli import main

LINES = "def broken(*arguments):\n    return arguments[0].no_such_name_of_ours\n"
CODE = """
from deep500.contracts.operator import Operator


class Fails(Operator):
    def forward(self, xp, x):
        return x.no_such_name


class GivesText(Operator):
    def forward(self, xp, x):
        return x * 2

    def backward(self, xp, dy, x):
        return "a"


class Honest(Operator):
    def forward(self, xp, x):
        return x * 2

    def backward(self, xp, dy, x):
        return dy * 2
"""
# a file that breaks a function of Deep500 in the processes that load it
PLANT = """
from deep500.check.operators import {module}

functions = {{}}
exec(compile({lines!r}, {file!r}, "exec"), functions)
{module}.{name} = functions["broken"]
"""
WRONG, BAD_INPUT, INTERNAL = 1, 2, 70


def of_ours(file: str) -> str:
    return d5.__file__.replace("__init__.py", file)


@pytest.fixture
def check(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def check(name: str, planted: str = "") -> tuple[int, str]:
        (tmp_path / "mine.py").write_text(CODE + planted)
        words = ["check", "operator", f"mine.py:{name}", "--framework", "reference"]
        options = ["--shape", "3x4", "--dtype", "float32"]
        code = main([*words, *options, "--out", str(tmp_path / "out")])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    return check


@pytest.mark.parametrize(
    ("module", "name"),
    [("runner", "OperatorRunner.run"), ("oracle", "run"), ("oracle", "derive")],
)
def test_a_defect_in_another_process_is_ours(check, module, name):
    file = f"check/operators/{module}.py"
    planted = PLANT.format(module=module, name=name, lines=LINES, file=of_ours(file))
    code, said = check("Honest", planted)
    assert code == INTERNAL, said
    [line] = [line for line in said.splitlines() if "internal error" in line]
    assert "AttributeError" in line and f"{file}, line 2" in line


def test_a_defect_in_judging_is_ours(check, monkeypatch):
    functions: dict = {}
    file = "check/operators/comparing.py"
    exec(compile(LINES, of_ours(file), "exec"), functions)
    monkeypatch.setattr(checks, "gradient_check", functions["broken"])
    code, said = check("Honest")
    assert code == INTERNAL and f"{file}, line 2" in said


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("Fails", BAD_INPUT, "no_such_name"),
        ("GivesText", WRONG, "backward of GivesText gives a str"),
        ("Honest", 0, "ok"),
    ],
)
def test_what_a_user_does_is_no_defect_of_ours(check, name, code, said):
    got, printed = check(name)
    assert got == code and said in printed, printed
