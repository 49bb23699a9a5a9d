"""A defect of Deep500 itself is called one: exit code 70, one line, never a verdict about the user's code."""

import pytest

from deep500.cli import main
from deep500.errors import Deep500Error, InternalError, raise_if_internal


def planted(args):
    return args.no_such_option_of_ours


def test_defect_has_its_own_exit_code_and_one_line(monkeypatch, capsys):
    monkeypatch.setattr("deep500.cli.doctor.call", planted)
    assert main(["doctor"]) == 70
    answer = capsys.readouterr()
    assert answer.out == ""
    assert answer.err.count("\n") == 1
    assert "internal error: AttributeError" in answer.err
    assert "CONTRIBUTING.md" in answer.err


def test_traceback_on_request(monkeypatch, capsys):
    monkeypatch.setattr("deep500.cli.doctor.call", planted)
    monkeypatch.setenv("DEEP500_TRACEBACK", "1")
    assert main(["doctor"]) == 70
    assert "no_such_option_of_ours" in capsys.readouterr().err


def test_error_of_the_users_code_is_not_ours():
    """This file stands for a user's: it is neither part of Deep500 nor installed."""
    for error in (ZeroDivisionError(), Deep500Error("bad input")):
        with pytest.raises(type(error)) as caught:
            raise error
        raise_if_internal(caught.value)


def test_error_of_ours_is_ours():
    source = compile("def ours():\n    return 1 / 0", INSIDE_DEEP500, "exec")
    functions: dict = {}
    exec(source, functions)
    with pytest.raises(ZeroDivisionError) as caught:
        functions["ours"]()
    # without the frame of this test, which stands for a user's
    error = caught.value.with_traceback(caught.value.__traceback__.tb_next)
    with pytest.raises(InternalError, match="planted.py, line 2"):
        raise_if_internal(error)


def _inside_deep500():
    import deep500

    return deep500.__file__.replace("__init__.py", "planted.py")


INSIDE_DEEP500 = _inside_deep500()
