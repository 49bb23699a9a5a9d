"""What is said about names that are not known, and about exceptions of others."""

from pathlib import Path

import pytest

from deep500.errors import did_you_mean, one_line, unknown, visible

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
    assert (
        str(unknown("operator", "Quux", []))
        == "no operator is named 'Quux'. Known: none"
    )
    assert did_you_mean("", OPERATORS) == ""


def test_an_exception_becomes_one_line() -> None:
    error = ValueError("first\n   second\tthird")
    assert one_line(error) == "first second third"
    assert one_line(error, kind=True) == "ValueError: first second third"
    assert one_line(error, limit=5) == "first"
    assert one_line(KeyError()) == one_line(KeyError(), kind=True) == "KeyError"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain µ × 漢字 e\u0301", "plain µ × 漢字 e\u0301"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("\x9b31m\x7f", "\\x9b31m\\x7f"),
        ("a\u202eb\u2066c", "a\\u202eb\\u2066c"),
        ("zero\u200bwidth\ufeff\u00ad", "zero\\u200bwidth\\ufeff\\xad"),
        ("blank\u3164\u2800", "blank\\u3164\\u2800"),
        ("one\ntwo\r\u2028", "one\\ntwo\\r\\u2028"),
        ("\ud800\U000e0041", "\\ud800\\U000e0041"),
    ],
)
def test_what_drives_a_terminal_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert visible(shown) == shown


def test_an_exception_cannot_drive_a_terminal_or_fail_itself() -> None:
    class Evil(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    Evil.__name__ = "\x1b[2J"
    assert one_line(Evil()) == "\\x1b[2J"
    assert one_line(ValueError("\x1b]0;title\x07")) == "\\x1b]0;title\\x07"


@pytest.mark.parametrize("copy", ["get_close_matches", "str(error).split()"])
def test_nobody_writes_them_again(copy: str) -> None:
    writers = [
        path.name for path in SOURCES if copy in path.read_text(encoding="utf-8")
    ]
    assert writers == ["errors.py"]
