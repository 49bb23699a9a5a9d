import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep500.reports.blocks import Table
from deep500.reports.tables import (
    UNITS,
    fitted,
    measured,
    percent,
    ratio,
    seconds,
    table,
)
from deep500.reports.terminal import table_text
from deep500.reports.text import clean, shortened

SCALES = {unit: scale for scale, unit in UNITS}
times = st.floats(1e-11, 1e5)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.234e-3, "1.234 ms"),
        (0.99996, "1.000 s"),
        (0.99994, "999.9 ms"),
        (999.96e-9, "1.000 µs"),
        (41e-9, "41.00 ns"),
        (0, "0 s"),
        (-2.5e-3, "-2.500 ms"),
        (12345.6, "12346 s"),
        (5e-13, "0.5000 ps"),
        (math.nan, "–"),
        (None, "–"),
        (math.inf, "–"),
        ("1", "–"),
        (True, "–"),
        (10**400, "–"),
        (1e12, "1.000e+12 s"),
    ],
)
def test_times_have_a_unit_and_four_digits(value, text):
    assert seconds(value) == text


def test_a_measured_time_has_interval_and_n():
    assert (
        measured(1.234e-3, 1.220e-3, 1.251e-3, 240)
        == "1.234 ms [1.220, 1.251], n = 240"
    )
    assert (
        measured(1.234e-3, 1.220e-3, 1.251e-3, 240, 0.99)
        == "1.234 ms [1.220, 1.251] at 99 %, n = 240"
    )
    assert ratio(1.052, 1.047, 1.058, 96) == "1.052 × [1.047, 1.058], n = 96"


def test_a_value_without_its_interval_is_not_shown():
    for low, high in ((None, 1.0), (0.5, None), (math.nan, 1.0)):
        assert measured(0.9, low, high, 12) == "refused, n = 12"


def test_a_narrow_interval_keeps_its_width():
    assert measured(0.0, 0.0, 2e-9, 3) == "0 ns [0, 2], n = 3"
    assert measured(1.0, 0.99999, 1.00001, 10) == "1.00000 s [0.99999, 1.00001], n = 10"


@given(times)
def test_a_printed_time_is_within_half_a_digit(x):
    value, unit = seconds(x).split()
    assert float(value) * SCALES[unit] == pytest.approx(x, rel=5.01e-4)


@given(times, st.floats(0, 0.5), st.floats(0, 0.5), st.integers(1, 10**6))
def test_a_printed_interval_holds_its_value(x, below, above, n):
    found = re.fullmatch(
        r"(\S+) (\S+) \[(\S+), (\S+)\], n = (\d+)",
        measured(x, x * (1 - below), x * (1 + above), n),
    )
    assert found and int(found[5]) == n
    value, low, high = float(found[1]), float(found[3]), float(found[4])
    assert low <= value <= high
    assert low * SCALES[found[2]] == pytest.approx(
        x * (1 - below), rel=1e-3, abs=x * 1e-3
    )


def columns(text: str) -> list[list[int]]:
    """Where the bars stand in each line."""
    return [
        [m.start() for m in re.finditer(r"(?<!\\)\|", line)]
        for line in text.splitlines()
    ]


cells = st.text(
    st.characters(blacklist_categories=("C", "M", "Zl", "Zp"), max_codepoint=0x10FF),
    max_size=12,
)


@given(st.lists(st.lists(cells, min_size=3, max_size=3), max_size=5))
def test_the_bars_of_a_table_stand_below_each_other(rows):
    text = table(["entry", "n", "x"], rows, "lr")
    assert len(text.splitlines()) == len(rows) + 2
    if all(c.isascii() for row in rows for cell in row for c in cell):
        assert len({tuple(line) for line in columns(text)}) == 1
    assert all(len(line) == 4 for line in columns(text))


def test_the_check_of_columns_sees_a_crooked_table():
    text = table(["a", "b"], [["1", "2"]])
    assert len({tuple(line) for line in columns(text.replace("| 1 ", "| 1"))}) == 2


def test_a_table_is_markdown():
    assert table(["name", "n"], [["a|b", "12"], ["c\nd", "3"]], "lr") == (
        "| name |   n |\n| ---- | --: |\n| a\\|b |  12 |\n| c d  |   3 |\n"
    )


def test_wide_letters_take_two_columns():
    assert table(["x"], [["漢字"], ["abcd"]]).splitlines()[2:] == [
        "| 漢字 |",
        "| abcd |",
    ]


@given(st.text())
def test_cleaned_text_cannot_drive_a_terminal(text):
    cleaned = clean(text)
    assert not re.search(
        r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", cleaned
    )
    cleaned.encode()


def test_shortened_keeps_both_ends():
    assert shortened("np.einsum('ij,jk->ik', a, b)", 12) == "np.eins…, b)"
    assert len(shortened("x" * 99, 30)) == 30
    assert shortened("short", 30) == "short"


def test_percent():
    assert (percent(0.95), percent(0.9875), percent(None)) == ("95 %", "98.75 %", "–")


LONG = "a sentence that is long enough to be wrapped once it has no room on one line"


def width(text: str) -> int:
    return max(map(len, text.splitlines()))


def test_a_narrow_table_stays_as_it_is():
    headers, rows = ["a", "b"], [["1", "2"]]
    assert fitted(headers, rows, "lr", 100) == [(headers, rows, "lr")]


def test_prose_is_wrapped_before_anything_is_cut():
    [(headers, rows, align)] = fitted(
        ["n", "note"], [["1", LONG], ["2", "short"]], "lt", 50
    )
    assert width(table(headers, rows, align)) <= 50
    assert (
        " ".join(row[1] for row in rows[:-1]) == LONG
        and rows[1][0] == ""
        and rows[-1][0] == "2"
    )


def test_few_rows_are_turned():
    headers = [f"column {i}" for i in range(12)]
    [(first, *rest), *_] = fitted(headers, [[f"value {i}" for i in range(12)]], "", 100)
    assert list(first) == ["column 0", "value 0"] and rest[0][-1] == [
        "column 11",
        "value 11",
    ]


def test_wide_tables_are_cut_and_every_part_names_its_rows():
    headers = ["name", *(f"column {i}" for i in range(20))]
    rows = [[f"row {n}", *(f"value {n} {i}" for i in range(20))] for n in range(3)]
    parts = fitted(headers, rows, "", 100)
    assert len(parts) > 1 and all(part[0][0] == "name" for part in parts)
    assert all(width(table(*part)) <= 100 for part in parts)
    shown = "".join(table(*part) for part in parts)
    assert all(f"value 2 {i}" in shown for i in range(20))


def test_rows_of_the_same_name_are_numbered():
    headers = ["name", *(f"column {i}" for i in range(20))]
    rows = [["same", *(f"value {i}" for i in range(20))] for _ in range(3)]
    parts = fitted(headers, rows, "", 100)
    assert all(part[0][0] == "#" for part in parts) and [
        row[0] for row in parts[-1][1]
    ] == [*"123"]


def test_a_long_word_is_never_broken():
    path = "/a/" + "very/" * 30 + "long/path"
    parts = fitted(["run", "folder"], [["1", path], ["2", path], ["3", "x"]], "", 100)
    assert path in table(*parts[-1])


def test_on_a_terminal_rich_draws_and_elsewhere_markdown():
    content = Table(["name", "n"], [["[bold]x[/bold] `a`", "1"], ["y", "22"]], "lr")
    plain, drawn = table_text(content), table_text(content, styled=True)
    assert plain.startswith("| name") and "|" not in drawn and "[bold]x[/bold]" in drawn
    assert width(drawn) <= 110 and "22" in drawn
