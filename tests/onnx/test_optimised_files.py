"""Files that ONNX Runtime's optimiser wrote: read if they are plain ONNX, refused with the domain's name if not."""

from pathlib import Path

import onnx
import onnxruntime  # type: ignore[import-untyped]
import pytest

import deep500 as d5
from deep500.cli import main
from deep500.errors import Unsupported


def optimised(folder: Path, level: str) -> Path:
    """A network as ONNX Runtime saves it after so much optimisation."""
    network = d5.networks.DigitsCnn().build((1, 8, 8), 10)
    predicting = network.subnetwork(inputs=["x"], outputs=["logits"])
    predicting.to_onnx(str(folder / "model.onnx"))
    options = onnxruntime.SessionOptions()
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = getattr(levels, f"ORT_ENABLE_{level}")
    options.optimized_model_filepath = str(folder / f"{level}.onnx")
    options.log_severity_level = 3
    onnxruntime.InferenceSession(str(folder / "model.onnx"), options)
    return folder / f"{level}.onnx"


@pytest.mark.parametrize("level", ["EXTENDED", "ALL"])
def test_own_operators_are_refused_by_their_domain(tmp_path: Path, level: str) -> None:
    path = optimised(tmp_path, level)
    nodes = onnx.load(path).graph.node
    own = next(node for node in nodes if node.domain)
    with pytest.raises(Unsupported) as caught:
        d5.Network.from_onnx(str(path))
    said = str(caught.value)
    assert f"is a {own.op_type} of the domain {own.domain!r}" in said
    assert "ORT_ENABLE_BASIC" in said and "--against engine.py:run" in said
    assert "\n" not in said


def test_basic_optimisation_is_plain_onnx(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    path = optimised(tmp_path, "BASIC")
    words = ["check", "network", str(tmp_path / "model.onnx"), str(path)]
    assert main([*words, "--out", str(tmp_path / "out")]) == 0


@pytest.mark.parametrize("verb", ["check", "show", "bench"])
def test_every_verb_says_it_in_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    verb: str,
) -> None:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    path = optimised(tmp_path, "ALL")
    extra = ["--framework", "reference"] if verb == "bench" else []
    assert main([verb, "network", str(path), *extra]) == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert "'com.microsoft.nchwc'" in said and said.startswith("d5: ")
