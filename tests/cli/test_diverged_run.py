"""A run that diverged, or was stopped by an event, is not one that was trained to the end."""

import json
from pathlib import Path
from typing import Any

import pytest

from deep500 import bundle
from deep500.cli import main

RECIPE = """
import deep500 as d5

FIXED = {{"model": "mlp", "model_kwargs": {{"hidden": (8,)}}, "dataset": "digits", "epochs": 3}}
MUTABLE = {{"batch_size": 64, "executor": "reference", "optimizer": d5.optimizers.SGD({rate}), "events": [{event}]}}
METRICS = [(d5.TestAccuracy(), 1.0)]
"""


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("rate", "event", "says"),
    [
        (0.1, "", "2 of 2 seeds were trained to the end, 3 epochs each."),
        (
            1e30,
            "d5.events.NotFinite()",
            "0 of 2 seeds were trained to the end, seed 0 diverged at epoch 1, step 2, seed 1 diverged at epoch 1, "
            "step 2; planned: 3 epochs each.",
        ),
        (
            1e30,
            "",
            "0 of 2 seeds were trained to the end, seed 0 diverged at epoch 1, step 2",
        ),
        (
            0.1,
            "d5.events.TargetReached(1.0)",
            "0 of 2 seeds were trained to the end, seed 0 was stopped in epoch 1: validation accuracy has reached 1 %",
        ),
    ],
)
def test_what_became_of_the_seeds(
    rate: float,
    event: str,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "1000")
    file = tmp_path / "r.py"
    file.write_text(RECIPE.format(rate=rate, event=event))
    out = tmp_path / "b"
    assert main(["run", str(file), "--seeds", "2", "--out", str(out)]) in (0, 1)
    text = " ".join(capsys.readouterr().out.split())
    assert says in text
    first_sentence = text.partition("**")[2].partition("**")[0]
    fate = "diverged" if rate > 1 else "were stopped early"
    failed = rate > 1 or bool(event)
    assert (f"of 2 seeds, 2 {fate}" in first_sentence) == failed
    derived: Any = bundle.read(out).documents["derived.json"]
    assert [entry["seed"] for entry in derived["failed"]] == [0, 1] * failed
    [accuracy] = derived["metrics"]
    if rate > 1:  # what is left of a network that diverged has no accuracy
        assert accuracy["values"] == [None, None] and accuracy["median"] is None
        assert derived["failed"][0]["reason"] == "diverged at epoch 1, step 2"
        assert "test accuracy no value" in first_sentence
    else:
        assert None not in accuracy["values"]
    ends = [block for block in bundle.read(out).blocks if "test" in block]
    is_ended = [bool(block.get("ended")) for block in ends]
    assert is_ended == [rate > 1 or bool(event)] * 2
    assert main(["verify", str(out)]) == 0


def test_events_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "events", "--json"]) == 0
    names = [row["name"] for row in json.loads(capsys.readouterr().out)]
    assert "SaveCheckpoint" in names and "Event" not in names
    assert main(["list", "event"]) == 2
    assert "Did you mean 'events'?" in capsys.readouterr().err


def test_bfloat16_on_onnx_runtime_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnxruntime")
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    run = ["run", "digits_mlp", "--tier", "tiny", "--seeds", "1"]
    run += ["--framework", "onnxruntime", "--set"]
    assert main([*run, "precision=BFloat16"]) == 2
    complaint = capsys.readouterr().err.splitlines()[-1]
    assert "the precision BFloat16 needs kernels for bfloat16" in complaint
    assert "precision=BFloat16(emulated=True)" in complaint
