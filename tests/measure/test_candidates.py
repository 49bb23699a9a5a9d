import sys
import time

import pytest

from deep500.errors import Deep500Error
from deep500.measure.candidates import (
    Command,
    Function,
    InProcess,
    Statement,
    candidate,
    check,
    resolve,
)


def count_of(timer, calls):
    elapsed = timer(calls)
    assert isinstance(elapsed, int) and elapsed > 0
    return elapsed


def test_a_statement_runs_as_often_as_asked_and_its_setup_once():
    log: list[str] = []
    sys.modules["d5_log"] = log  # type: ignore[assignment]  # a place that the statement can reach
    setup = "import sys; log = sys.modules['d5_log']; log.append('setup'); k = 5"
    timer = Statement("log.append(k)", setup).timer({}, None, None)
    count_of(timer, 3)
    count_of(timer, 2)
    assert log == ["setup", *[5] * 5]


def test_levels_are_names_in_statements_keywords_in_functions_and_text_in_commands():
    seen: list[int] = []
    count_of(InProcess(lambda n: seen.append(n)).timer({"n": 7}, None, None), 2)
    assert seen == [7, 7]
    count_of(Statement("assert n == 7").timer({"n": 7}, None, None), 1)
    assert Command("test {n} = 7").at({"n": 8}) == "test 8 = 7"


def test_setup_names_are_seen_by_functions_and_comprehensions():
    statement = Statement(
        "assert [f(i) for i in range(k)] == [1, 2]", "k = 2\ndef f(i): return i + k - 1"
    )
    count_of(statement.timer({}, None, None), 2)


def test_multi_line_strings_keep_their_indentation():
    timer = Statement('assert text == """\n  two\n"""', 'text = """\n  two\n"""').timer(
        {}, None, None
    )
    count_of(timer, 1)


def test_synchronisation_is_inside_the_timed_interval():
    slow = Statement("pass").timer({}, None, lambda: time.sleep(0.02))
    before = Statement("pass").timer({}, lambda: time.sleep(0.02), None)
    assert slow(1) >= 20_000_000 > before(1)


def test_a_timer_times():
    assert 20_000_000 <= Statement("sleep(0.01)", "from time import sleep").timer(
        {}, None, None
    )(2)


@pytest.mark.parametrize(
    "text", ["1 +", "return 1", "yield 2", "break", "", "# nothing", "x = \0"]
)
def test_statements_that_cannot_be_timed_are_refused_in_one_line(text):
    with pytest.raises(Deep500Error) as error:
        check(Statement(text))
    assert "\n" not in str(error.value)


def test_a_setup_may_import_every_name_of_a_module():
    setup = "k = 2; from math import *\ndef area(r): return k * pi * r"
    statement = Statement("pi = floor(pi); assert pi * k == 6 < area(1)", setup)
    count_of(statement.timer({}, None, None), 2)
    count_of(Statement("assert n == floor(n)", setup).timer({"n": 3}, None, None), 1)


def test_a_star_import_that_fails_is_the_setups_fault():
    with pytest.raises(Deep500Error, match=r"the setup raised ModuleNotFoundError"):
        Statement("pass", "from no_such_module import *").timer({}, None, None)


def test_star_imports_in_a_timed_statement_are_refused_with_the_reason():
    with pytest.raises(Deep500Error, match=r"module level; move it to the setup"):
        Statement("from math import *").timer({}, None, None)


@pytest.mark.parametrize("path", ["no_such_module:f", "math:no_such_name", "math:pi"])
def test_functions_that_do_not_resolve(path):
    with pytest.raises(Deep500Error, match=path):
        resolve(path)


def test_how_a_candidate_is_read():
    assert isinstance(candidate("math:factorial"), Function)
    assert isinstance(candidate("x = y"), Statement)
    assert isinstance(candidate(len), InProcess)
    assert candidate(Command("true")) == Command("true")
    with pytest.raises(Deep500Error, match="42"):
        candidate(42)


@pytest.mark.parametrize(
    ("text", "setup"),
    [
        ("_d5_start += 20000", ""),
        ("pass", "def f(_d5_x): pass"),
        ("global _d5_now; pass", ""),
        ("f'{_d5_start}'", ""),
        ("import time as _d5_now", ""),
    ],
)
def test_names_of_the_timed_loop_are_refused(text, setup):
    with pytest.raises(Deep500Error, match="begin with _d5_ belong to the timed loop"):
        check(Statement(text, setup))


def test_a_text_that_only_mentions_such_a_name_is_allowed():
    check(Statement("print('_d5_start')", "x = '_d5_'"))
