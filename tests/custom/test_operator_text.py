"""Operators as they are named on a command line, with attributes or without; the same for every verb."""

from pathlib import Path

import pytest

from deep500.cli import main
from deep500.custom.operator_text import parsed_operator
from deep500.errors import Deep500Error


@pytest.mark.parametrize(
    ("text", "file", "name", "attributes"),
    [
        ("Gelu", "", "Gelu", {}),
        ("Transpose(perm=[1, 0])", "", "Transpose", {"perm": (1, 0)}),
        ("a/my_op.py:Mine(power=3)", "a/my_op.py", "Mine", {"power": 3}),
        ("gelu.cpp:gelu", "gelu.cpp", "gelu", {}),
    ],
)
def test_what_is_named(text: str, file: str, name: str, attributes: dict) -> None:
    operator = parsed_operator(text)
    assert (operator.file, operator.name) == (file, name)
    assert operator.attributes == attributes


@pytest.mark.parametrize(
    "text", ["Gelu('tanh')", "Gelu(a=b.c)", "Gelu(a=)", "Gelu(**a)"]
)
def test_what_is_no_attribute(text: str) -> None:
    with pytest.raises(Deep500Error, match="write attributes as name=value"):
        parsed_operator(text)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Softmax(axis=0)", 0),
        ("Softmax(axis=7)", 2),
        ("Softmax(axs=0)", 2),
        ("Gelu(a=b)", 2),
    ],
)
def test_check_takes_attributes(
    text: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["check", "operator", text, "--shape", "2x3", "--framework", "reference"]
    assert main([*words, "--out", str(tmp_path / "bundle")]) == code
    said = capsys.readouterr().err.splitlines()
    errors = [line for line in said if line.startswith("d5: ")]
    assert len(errors) == (code == 2)
