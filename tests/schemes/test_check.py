"""d5 check scheme finds the errors of planted.py, says what they look like, and passes their honest twins."""

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from deep500 import codecs, schemes
from deep500.check.schemes import check_scheme
from deep500.check.schemes.apart import is_of_schemes
from deep500.check.schemes.checks import CHECKS
from deep500.check.schemes.loading import load_scheme
from deep500.check.schemes.trials import Trials
from deep500.cli import main
from deep500.contracts.scheme import Scheme
from deep500.distributed.replica import Replica
from deep500.errors import (
    Deep500Error,
    Incomplete,
    InternalError,
    raise_if_internal,
)
from deep500.schemes.all_reduce import AllReduce

from . import planted


@pytest.mark.parametrize("scheme", ["LocalSGD", schemes.LocalSGD])
def test_a_text_and_a_class_are_checked(scheme: Any) -> None:
    report = check_scheme(scheme, ranks=2)
    assert report.subject == str(schemes.LocalSGD())
    assert report.ok


@pytest.mark.parametrize(
    ("scheme", "message"),
    [
        (3, "3 is no scheme: give one, or its text, such as LocalSGD"),
        ("LocalSGDD", "no scheme is named 'LocalSGDD'. Did you mean 'LocalSGD'?"),
        (planted.NeedsPeriod, "give an instance, NeedsPeriod(period=…)"),
    ],
)
def test_what_is_no_scheme_is_refused(scheme: Any, message: str) -> None:
    with pytest.raises(Deep500Error, match=re.escape(message)) as refused:
        check_scheme(scheme)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("path", ["mine.py", "./mine.py"])
@pytest.mark.parametrize("kind", ["scheme", "codec", "optimizer", "sampler"])
def test_a_file_without_a_class_lists_its_classes(
    kind: str,
    path: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    base = kind.capitalize()
    source = f"from deep500.contracts.{kind} import {base}\n"
    source += f"class First({base}): pass\nclass Second({base}): pass\n"
    (tmp_path / "mine.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    assert main(["check", kind, path]) == 2
    message = f"name the {kind} in it, as in {path}:First. Known: First, Second"
    assert message in capsys.readouterr().err
    assert main(["check", kind, "none.py"]) == 2
    assert "there is no file none.py" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("TopK", "codec of AllReduce is 'TopK', and a Codec is wanted"),
        (3, "codec of AllReduce is 3, and a Codec is wanted"),
        (schemes.LocalSGD, "and a Codec is wanted"),
    ],
)
def test_a_setting_that_is_no_codec_is_refused(setting: Any, message: str) -> None:
    with pytest.raises(Deep500Error, match=re.escape(message)):
        AllReduce(codec=setting)


def test_arrays_in_dictionaries_and_lists_of_the_state_are_resumed() -> None:
    trials = Trials(planted.NestedState(), 2, "reference", 0)
    check = CHECKS["resumption"](trials)
    assert check.ok, check.text


def test_a_class_as_a_setting_is_made() -> None:
    cls: Any = codecs.Sign
    assert AllReduce(codec=cls) == AllReduce(codec=codecs.Sign())


@pytest.mark.parametrize(
    ("scheme", "promise"),
    [
        (planted.GlobalMomentum(), "resumption"),
        (planted.SharedSum(), "apart"),
        pytest.param(planted.SharedRandom(), "apart", marks=pytest.mark.slow),
        (planted.Unweighted(), "serial"),
        (planted.SumForMean(), "mean"),
        (planted.WrongDivisor(), "mean"),
        (planted.WrongSign(), "error feedback"),
        (planted.DroppedResidual(), "error feedback"),
        (planted.UnusedResidual(), "error feedback"),
        (planted.Deadlocks(), "training"),
        (planted.Raises(), "training"),
    ],
    ids=str,
)
def test_planted_errors_are_found(scheme: Scheme, promise: str) -> None:
    trials = Trials(scheme, 4, "reference", 0)
    try:
        check = CHECKS[promise](trials)
    except Exception as error:  # which `check_scheme` turns into a fault
        raise_if_internal(error)
        return
    assert check.ok is False


@pytest.mark.parametrize(
    "scheme",
    [
        pytest.param(planted.StateMomentum(), marks=pytest.mark.slow),
        pytest.param(planted.PeriodicDrift(), marks=pytest.mark.slow),
        planted.PeriodicDrift(3, codecs.Sign()),
        pytest.param(planted.Elastic(), marks=pytest.mark.slow),
        planted.PlainLocal(),
        pytest.param(planted.PlainLocal(50), marks=pytest.mark.slow),
        AllReduce(codec=codecs.TopK(0.01)),
        pytest.param(AllReduce(codec=codecs.QSGD(bits=4)), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_honest_schemes_pass(scheme: Scheme) -> None:
    report = check_scheme(scheme)
    assert report.ok, [(check.name, check.text) for check in report.wrong]


def test_a_fault_says_what_it_looks_like() -> None:
    [divisor] = [
        c for c in check_scheme(planted.WrongDivisor()).wrong if c.name == "mean"
    ]
    assert "1.333 times as far" in divisor.text
    assert "looks like a division by P - 1" in divisor.text
    [serial] = check_scheme(planted.Unweighted()).wrong
    assert "0.0001 is allowed" in serial.text
    assert "weighted_gradients(worker)" in serial.text
    [forgotten] = check_scheme(planted.GlobalMomentum()).wrong
    assert "GlobalMomentum.step (planted.py, line " in forgotten.text


def test_ranks_that_share_a_module_are_told_what_they_lack() -> None:
    check = CHECKS["apart"](Trials(planted.SharedGradients(), 2, "reference", 0))
    assert check.ok is False
    assert "SharedGradients.step (planted.py, line " in check.text
    assert "KeyError" in check.text and "must be sent to it" in check.text


HELPER = "TOTAL: dict = {}\n"
SHARES_A_HELPER = """
import helper_of_a_scheme
from deep500.contracts.scheme import Scheme, backprop, update


class Shares(Scheme):
    def step(self, worker):
        yield from backprop(worker)
        gradients = worker.gradients()
        for dtype, buffer in gradients.items():
            buffer += 0.1 * helper_of_a_scheme.TOTAL.get(dtype, 0)
            helper_of_a_scheme.TOTAL[dtype] = buffer.copy()
        worker.set_gradients(gradients)
        yield from update(worker)
"""


def test_ranks_that_share_an_imported_module_are_found(tmp_path: Path) -> None:
    (tmp_path / "helper_of_a_scheme.py").write_text(HELPER)
    (tmp_path / "shares.py").write_text(SHARES_A_HELPER)
    scheme = load_scheme(f"{tmp_path / 'shares.py'}:Shares")
    check = CHECKS["apart"](Trials(scheme, 3, "reference", 0))
    assert check.ok is False and "parameters that differ by" in check.text


@pytest.mark.parametrize(
    "folder",
    ["/home/user/.local/lib/python3/site-packages", "/usr/lib/python3/dist-packages"],
)
def test_packages_of_another_environment_are_not_imported_again(folder: str) -> None:
    package = ModuleType("package")
    package.__file__ = f"{folder}/package/__init__.py"
    assert not is_of_schemes(package)
    package.__file__ = "/home/user/package/__init__.py"
    assert is_of_schemes(package)


def test_a_scheme_of_a_function_is_not_checked_apart() -> None:
    class Local(AllReduce):
        pass

    check = CHECKS["apart"](Trials(Local(), 2, "reference", 0))
    assert check.ok is None and "d5 check scheme FILE.py:NAME" in check.text


def test_a_scheme_that_cannot_run_is_told_once_and_in_full() -> None:
    [check] = check_scheme(planted.Deadlocks()).checks
    assert check.text.endswith("rank 3 waits for a message from rank 0 (tag 0)")


def test_a_scheme_that_is_no_program_cannot_be_judged() -> None:
    with pytest.raises(Incomplete, match=r"NoProgram.step \(planted.py, line "):
        check_scheme(planted.NoProgram())


def test_a_scheme_that_never_ends_is_named_with_file_and_line(
    capsys: pytest.CaptureFixture,
) -> None:
    file = Path(planted.__file__)
    assert main(["check", "scheme", f"{file}:Endless", "--timeout", "2"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "no end within 2 s, in Endless.step (planted.py, line " in out


def test_verbose_lists_every_check_with_its_numbers(
    capsys: pytest.CaptureFixture,
) -> None:
    assert main(["check", "scheme", "AllReduce", "--ranks", "2", "--verbose"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [[cell.strip() for cell in line.split("|")] for line in lines if "|" in line]
    listed = {row[1]: row[4] for row in rows}
    assert CHECKS.keys() <= listed.keys()
    assert float(listed["serial"]) < 1e-4 and float(listed["mean"]) < 1e-3


@pytest.mark.slow
def test_many_ranks_share_a_batch() -> None:
    report = check_scheme(AllReduce(), ranks=30)
    assert report.ok, [(check.name, check.text) for check in report.wrong]


def test_an_error_of_ours_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Replica, "set_gradients", None)
    with pytest.raises(InternalError, match="defect of Deep500"):
        check_scheme(AllReduce())
