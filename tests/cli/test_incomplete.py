"""What lacks a method, or whose methods return None, is not judged: one line, exit code 2, on every verb."""

from pathlib import Path

import pytest

from deep500.cli import main

FILE = """
import numpy as np
import deep500 as d5


class NoUpdate(d5.Optimizer):
    pass


class NoPayload(d5.Codec):
    def encode(self, key, x):
        return None


class NoResult(d5.Operator):
    def forward(self, xp, x):
        x * x


class NoGradient(d5.Operator):
    def forward(self, xp, x):
        return x * x

    def backward(self, xp, dy, x):
        2 * x * dy


class NoSeed(d5.Sampler):
    def __init__(self):
        super().__init__(4)

    def order(self, size, epoch):
        return np.random.default_rng(epoch).permutation(size)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(FILE)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            "check optimizer mine.py:NoUpdate --framework reference",
            "NoUpdate has no method 'update'",
        ),
        (
            "check codec mine.py:NoPayload",
            "NoPayload.encode (mine.py, line 11) returned None",
        ),
        (
            "check operator mine.py:NoResult --shape 3x4 --framework reference",
            "NoResult returns a NoneType: it has to return arrays of numbers",
        ),
    ],
)
def test_it_is_refused_in_one_line(
    words: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words.split(), "--out", "bundle"]) == 2
    [line] = capsys.readouterr().err.strip().splitlines()
    assert text in line
    assert "give other inputs" not in line


def test_a_derivative_that_returns_nothing_is_wrong(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = "check operator mine.py:NoGradient --shape 3x4 --framework reference --out bundle"
    assert main(words.split()) == 1
    assert (
        "NoGradient.backward (mine.py, line 24) returned None"
        in capsys.readouterr().out.replace("\n", " ")
    )


def test_a_sampler_without_a_seed_is_checked() -> None:
    assert main(["check", "sampler", "mine.py:NoSeed", "--out", "bundle"]) == 0


def test_a_scheme_that_wants_more_than_the_worker_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("more.py").write_text(
        "import deep500 as d5\n\n\nclass More(d5.Scheme):\n    def step(self, worker, batch):\n        yield\n"
    )
    words = "run digits_mlp --tier tiny --seeds 1 --ranks 2 --transport virtual --scheme more.py:More --out bundle"
    assert main(words.split()) == 2
    assert (
        "More.step (more.py, line 5) is called with the worker alone"
        in capsys.readouterr().err
    )
