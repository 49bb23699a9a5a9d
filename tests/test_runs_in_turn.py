"""Two recipes that are trained in turn: each as if alone, in the order ABBA, resumed, and compared as such."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import deep500 as d5
from deep500 import bundle
from deep500.bundle.records.bundle_comparison import compare
from deep500.bundle.records.verification import verify
from deep500.cli import main
from deep500.contracts.recipe import Recipe
from deep500.errors import Deep500Error
from deep500.rerun.recipe_runner import run
from deep500.rerun.runs_in_turn import run_in_turn
from deep500.training.events import Event

SAID = "trained in turn"


class Diary(Event):
    """Notes which recipe has begun which seed; may end the program once, as Ctrl-C does."""

    def __init__(self, name: str, lines: list[str], stop_at: int | None = None):
        self.name, self.lines, self.stop_at = name, lines, stop_at

    def before_epoch(self, trainer: Any, epoch: int) -> None:
        self.lines.append(self.name)
        if len(self.lines) == self.stop_at:
            raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))


def recipe(name: str, optimizer: d5.Optimizer, **mutable: Any) -> Recipe:
    return Recipe(
        name,
        {"model": d5.networks.Mlp((4,)), "dataset": "digits", "epochs": 1},
        {
            "batch_size": 256,
            "executor": "reference",
            "optimizer": optimizer,
            **mutable,
        },
        [(d5.TestAccuracy(), None), (d5.Throughput(), None)],
    )


PAIR = [recipe("A", d5.optimizers.SGD(0.1)), recipe("B", d5.optimizers.Adam(0.01))]


def diaries(lines: list[str], stop_at: int | None = None) -> Callable[[], list[Event]]:
    """Makes the diary of A, then that of B."""
    names = iter("AB")
    return lambda: [Diary(next(names), lines, stop_at)]


def weights(folder: Path) -> list[str]:
    blocks = bundle.read(folder).blocks
    return [str(block["weights"]) for block in blocks if "weights" in block]


def test_both_are_trained_in_turn_as_if_alone(tmp_path: Path) -> None:
    lines: list[str] = []
    outcomes = run_in_turn(PAIR, tmp_path / "pair", seeds=3, events=diaries(lines))
    assert "".join(lines) == "ABBAAB"
    for side, outcome in zip("ab", outcomes, strict=True):
        assert outcome.bundle == tmp_path / "pair" / side
        assert verify(outcome.bundle).ok
    alone = run(PAIR[1], tmp_path / "alone", seeds=3)
    assert weights(alone.bundle) == weights(outcomes[1].bundle)


def test_an_interrupted_pair_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    whole = run_in_turn(PAIR, tmp_path / "whole", seeds=2)
    folder = tmp_path / "pair"
    with pytest.raises(KeyboardInterrupt):
        run_in_turn(PAIR, folder, seeds=2, events=diaries([], stop_at=3))
    lines: list[str] = []
    events = diaries(lines)
    outcomes = run_in_turn(PAIR, folder, seeds=2, resume=True, events=events)
    assert sorted(lines) == ["A", "B"]
    for expected, outcome in zip(whole, outcomes, strict=True):
        assert weights(outcome.bundle) == weights(expected.bundle)
        assert verify(outcome.bundle).ok
    again = run_in_turn(PAIR, folder, seeds=2, resume=True)
    assert [outcome.trained for outcome in again] == [False, False]


def test_a_comparison_says_whether_both_were_trained_in_turn(tmp_path: Path) -> None:
    of_a, of_b = run_in_turn(PAIR, tmp_path / "pair", seeds=3)
    alone = run(PAIR[1], tmp_path / "alone", seeds=3)

    def answer(b: Path) -> str:
        return str(compare(of_a.bundle, b).report())

    assert SAID in answer(of_b.bundle)
    assert SAID not in answer(alone.bundle)


def test_ranks_are_refused_before_anything_is_trained(tmp_path: Path) -> None:
    with_ranks = recipe("C", d5.optimizers.SGD(0.1), ranks=2)
    with pytest.raises(Deep500Error, match="recipe C has ranks: .* one by one"):
        run_in_turn([PAIR[0], with_ranks], tmp_path / "pair")
    assert not (tmp_path / "pair").exists()


def test_an_error_names_the_recipe_whose_code_raised_it(tmp_path: Path) -> None:
    class Fails(Event):
        def after_step(self, trainer: Any, outputs: Any) -> None:
            raise ValueError("no")

    failing = recipe("Failing", d5.optimizers.SGD(0.1), events=[Fails()])
    with pytest.raises(Deep500Error, match=r"^recipe Failing: .*Fails\.after_step"):
        run_in_turn([PAIR[0], failing], tmp_path / "pair", seeds=2)


OWN = """
import deep500 as d5

FIXED = {{"model": "mlp", "dataset": "digits", "epochs": 1}}
MUTABLE = {{"batch_size": 256, "executor": "reference", "optimizer": d5.optimizers.{0}}}
METRICS = [(d5.TestAccuracy(), None), (d5.Throughput(), None)]
"""


def test_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sgd.py").write_text(OWN.format("SGD(0.1)"))
    Path("adam.py").write_text(OWN.format("Adam(0.01)"))
    assert main(["run", "sgd.py", "adam.py", "--seeds", "3", "--out", "pair"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert SAID in said and "| throughput |" in said
    assert Path("pair.html").exists()
    assert main(["verify", "pair/a"]) == main(["verify", "pair/b"]) == 0
    assert main(["run", "sgd.py", "missing.py", "--out", "none"]) == 2
    assert not Path("none").exists()
