"""Are two runs of the same quality? The verdicts, from records to exit codes."""

import json
from pathlib import Path
from typing import Any

import pytest

from deep500.cli import main
from deep500.errors import Deep500Error
from deep500.reports.terminal import blocks_text
from deep500.results.outcomes.data import RecipeRecord
from deep500.results.outcomes.equivalent import quality_margin
from deep500.results.recipe import Recipe
from tests.training.recipe_documents import summary

from .test_outcome_comparison import metric
from .test_outcome_comparison import run as run_of

SEEDS = (90.0, 91.0, 92.0, 91.5, 90.5, 91.2)


def record(values: Any) -> RecipeRecord:
    return run_of(metric("TestAccuracy", list(values)))


def verdict(values: Any, margin: float = 1.5) -> str:
    contrast = Recipe().equivalence(record(SEEDS), record(values), margin, 0.95)
    return contrast.equivalence


def test_the_three_verdicts() -> None:
    assert (
        verdict([value + 0.2 * (-1) ** i for i, value in enumerate(SEEDS)])
        == "equivalent"
    )
    assert (
        verdict([value - 5 + 0.1 * i for i, value in enumerate(SEEDS)]) == "different"
    )
    assert verdict([90.0, 95.0, 88.0, 91.0, 99.0, 85.0]) == "inconclusive"


def test_a_seed_without_a_value_and_too_few_seeds_are_inconclusive() -> None:
    assert verdict([*SEEDS[:5], None]) == "inconclusive"
    for count in (2, 5):
        few = record(SEEDS[:count])
        contrast = Recipe().equivalence(few, few, 1.5, 0.95)
        assert contrast.equivalence == "inconclusive"
        assert "at least" in blocks_text(contrast.blocks, drawn=False)


def test_what_so_many_seeds_cannot_exclude_is_said() -> None:
    contrast = Recipe().equivalence(record(SEEDS), record(SEEDS), 1.5, 0.95)
    text = blocks_text(contrast.blocks, drawn=False)
    assert "6 seeds cannot exclude that up to 39 % of all seeds collapse" in text
    far_off = [value - 30 * (i == 0) for i, value in enumerate(SEEDS * 3)]
    contrast = Recipe().equivalence(record(SEEDS * 3), record(far_off), 1.5, 0.95)
    assert contrast.equivalence == "inconclusive"
    text = blocks_text(contrast.blocks, drawn=False)
    assert "some seeds lie so far off that the mean may not" in text


def test_a_margin_is_relative_where_a_quality_is_not_in_percent() -> None:
    assert quality_margin(summary([90.0]), 1.5) == 1.5
    margin = quality_margin(summary([-0.2], unit=""), 1.5)
    assert margin == pytest.approx(0.003)
    assert quality_margin(summary([None], unit=""), 1.5) == 1.5


def test_a_wrong_margin_is_one_line() -> None:
    with pytest.raises(Deep500Error, match="the margin is"):
        verdict(SEEDS, margin=0.0)


@pytest.mark.parametrize(("rate", "code"), [("0.1", 0), ("0.0000001", 1)])
def test_the_exit_code_says_it(
    rate: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    words = [
        "run",
        "digits_mlp",
        "--tier",
        "tiny",
        "--framework",
        "reference",
        "--seeds",
        "6",
    ]
    for name, learning_rate in (("a", "0.1"), ("b", rate)):
        optimizer = f"Momentum({learning_rate}, 0.9)"
        main([*words, "--optimizer", optimizer, "--out", str(tmp_path / name)])
    capsys.readouterr()
    compared = [
        "compare",
        str(tmp_path / "a"),
        str(tmp_path / "b"),
        "--equivalent",
        "1.5",
        "--json",
    ]
    assert main(compared) == code
    answer = json.loads(capsys.readouterr().out)
    assert answer["fixed_equal"] and answer["equivalence"]["margin"] == 1.5
    assert answer["recipes"]["a"]["fixed_hash"] == answer["recipes"]["b"]["fixed_hash"]
