"""`d5 check operator` on the corpus: wrong operators are found, honest ones are left alone."""

import random
from typing import Any

import pytest

from deep500.cli import main

from .catalogue import CORPUS, HONEST, WRONG, Entry
from .subjects import FOLDER

SAMPLE = 4  # of the quick tests, drawn by a seed: a check takes some seconds
SEEDS = (0, 1, 2)
RIGHT = 0


def checked(
    entry: Entry, seed: int, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str]:
    """The exit code of the check, and what it printed."""
    place = FOLDER / entry.operator
    command = ["check", "operator", str(place), "--framework", "reference"]
    command += ["--reference", f"{FOLDER / 'references.py'}:{entry.reference}"]
    command += ["--seed", str(seed)]
    if entry.shape:
        command += ["--shape", entry.shape]
    code = main(command)
    printed = capsys.readouterr()
    return code, printed.out + printed.err


def parameters(entries: list[Entry], *marks: Any) -> list:
    return [pytest.param(entry, id=entry.operator, marks=marks) for entry in entries]


def sample() -> list[Entry]:
    """Half of them wrong; without C++, which is compiled first, and without what nobody can tell."""
    draw = random.Random(500)
    wrong = [e for e in WRONG if ".cpp" not in e.operator and not e.missed]
    honest = [e for e in HONEST if ".cpp" not in e.operator]
    return draw.sample(wrong, SAMPLE // 2) + draw.sample(honest, SAMPLE // 2)


QUICK = sample()
REST = [entry for entry in CORPUS if entry not in QUICK]


@pytest.mark.parametrize(
    "entry", parameters(QUICK) + parameters(REST, pytest.mark.slow)
)
def test_the_verdict_is_the_expected_one(
    entry: Entry, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    if entry.missed:
        request.applymarker(pytest.mark.xfail(reason=entry.missed, strict=False))
    code, printed = checked(entry, SEEDS[0], capsys)
    assert (code == RIGHT) is (entry.expected == "ok"), printed


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS[1:])
@pytest.mark.parametrize("entry", parameters(HONEST))
def test_no_false_alarm_with_another_seed(
    entry: Entry, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    code, printed = checked(entry, seed, capsys)
    assert code == RIGHT, printed
