"""What is said about names that are not known, and about exceptions of others."""

from pathlib import Path

import pytest

from deep500.errors import did_you_mean, one_line, unknown

OPERATORS = ["Gemm", "LeakyRelu", "Softmax"]
SOURCES = sorted((Path(__file__).parents[1] / "deep500").rglob("*.py"))


@pytest.mark.parametrize("name", ["Softmx", "softmax", "SOFTMAX"])
def test_the_nearest_name_is_offered(name: str) -> None:
    assert str(unknown("operator", name, OPERATORS)) == (
        f"no operator is named {name!r}. Did you mean 'Softmax'? Known: Gemm, LeakyRelu, Softmax"
    )


def test_nothing_is_offered_where_nothing_is_near() -> None:
    assert str(unknown("operator", "Quux", OPERATORS, "3 of them")) == (
        "no operator is named 'Quux'. Known: 3 of them"
    )
    assert str(unknown("operator", "Quux", [])) == "no operator is named 'Quux'. Known: none"
    assert did_you_mean("", OPERATORS) == ""


def test_an_exception_becomes_one_line() -> None:
    error = ValueError("first\n   second\tthird")
    assert one_line(error) == "first second third"
    assert one_line(error, kind=True) == "ValueError: first second third"
    assert one_line(error, limit=5) == "first"
    assert one_line(KeyError()) == one_line(KeyError(), kind=True) == "KeyError"


@pytest.mark.parametrize("copy", ["get_close_matches", "str(error).split()"])
def test_nobody_writes_them_again(copy: str) -> None:
    writers = [path.name for path in SOURCES if copy in path.read_text(encoding="utf-8")]
    assert writers == ["errors.py"]
