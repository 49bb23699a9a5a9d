"""Two forms of a network: folded weights are computed again, and what is not compared is said."""

from pathlib import Path

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
import pytest

import deep500 as d5
from deep500.check.networks.matching import comparable
from deep500.check.report import Reports
from deep500.cli import main

RNG = np.random.default_rng(0)
TABLE = RNG.standard_normal((7, 3)).astype("float32")
HIDDEN = RNG.standard_normal((3, 3)).astype("float32")


def tied(hidden: bool) -> d5.Network:
    """Scores of all tokens by the transposed embedding, perhaps with a transposed weight before it."""
    network = d5.Network("tied")
    network.add_input("ids", ("batch", 5), "int64")
    network.add_param("table", TABLE)
    value = network.add_node("Gather", ("table", "ids"), ["rows"])
    if hidden:
        network.add_param("hidden", HIDDEN)
        network.add_node("Transpose", ("hidden",), ["turned"], perm=(1, 0))
        network.add_node("MatMul", (value, "turned"), ["product"])
        value = network.add_node("Tanh", ("product",), ["features"])
    network.add_node("Transpose", ("table",), ["head"], perm=(1, 0))
    network.add_node("MatMul", (value, "head"), ["scores"])
    network.add_output("scores")
    return network


def optimised(network: d5.Network, folder: Path) -> tuple[Path, Path]:
    """The network as a file, and as ONNX Runtime writes it after basic optimisation."""
    before, after = folder / "before.onnx", folder / "after.onnx"
    network.save(before)
    options = onnxruntime.SessionOptions()
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(after)
    onnxruntime.InferenceSession(str(before), options)
    return before, after


def gradients(report: Reports) -> set[str]:
    return {c.case for c in report.checks if c.name == "whole backward" and c.ok}


def sums(width: int) -> d5.Network:
    network = d5.Network("sums")
    network.add_input("x", ("batch", 3))
    network.add_param("weight", np.ones((3, width), np.float32))
    network.add_node("MatMul", ("x", "weight"), ["hidden"])
    network.add_node("ReduceSum", ("hidden", [1]), ["y"])
    network.add_output("y")
    return network


def test_values_of_one_name_and_other_shapes_are_wrong() -> None:
    report = d5.check_network(sums(5), against=sums(4), framework="reference")
    first = report.reports[0].wrong[0]
    assert first.case == "hidden" and "shape [2, 5] where [2, 4] is right" in first.text


@pytest.mark.parametrize("reverse", [False, True], ids=["after", "before"])
@pytest.mark.parametrize("hidden", [False, True])
def test_a_tied_weight_before_and_after_an_optimiser(
    tmp_path: Path, hidden: bool, reverse: bool
) -> None:
    files = optimised(tied(hidden), tmp_path)
    first, second = reversed(files) if reverse else files
    assert "head" in d5.Network.load(files[1]).params  # the optimiser has folded it
    report = d5.check_network(second, against=first, framework="reference")
    assert report.ok, report.text
    assert gradients(report) == set(tied(hidden).trainable)
    assert any(r.endswith("head") for r in report.remarks)


def test_a_folded_weight_that_is_wrong_is_found(tmp_path: Path) -> None:
    before, after = optimised(tied(True), tmp_path)
    spoilt = d5.Network.load(after)
    spoilt.params["head"] = spoilt.params["head"] * np.float32(1.001)
    report = d5.check_network(spoilt, against=before)
    assert report.first is not None and report.first.name == "whole forward"
    assert any(r.endswith("from its parameters again: turned") for r in report.remarks)


def test_the_command_says_what_was_computed_ahead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    before, after = optimised(tied(True), tmp_path)
    assert main(["check", "network", str(before), str(after)]) == 0
    said = capsys.readouterr().out
    assert "from its parameters again: turned, head" in said
    assert "another program has removed hidden" in said


def linear(weights: dict[str, float], outputs: tuple[str, ...]) -> d5.Network:
    """A product with every weight, all of the same input."""
    network = d5.Network("linear")
    network.add_input("x", (2, 3))
    for (name, value), output in zip(weights.items(), outputs, strict=True):
        network.add_param(name, np.full((3, 1), value, np.float32))
        network.add_node("MatMul", ("x", name), [output])
        network.add_output(output)
    return network


FIRST = linear({"a": 1.0, "b": 2.0}, ("u", "v"))


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (linear({"a": 1.0, "b": 2.0}, ("u", "v")), []),
        (
            linear({"a": 1.0, "b": 2.0}, ("u", "w")),
            ["outputs matched by their position: 'v' with 'w'"],
        ),
        (
            linear({"a": 1.0, "c": 2.0}, ("u", "v")),
            [
                "trained parameters of the first alone, their gradients not compared: b",
                "trained parameters of the second alone, their gradients not compared: c",
            ],
        ),
        (
            linear({"a": 1.0}, ("u",)),
            [
                "outputs of the first alone, not compared: v; without them, gradients are not compared either",
                "trained parameters of the first alone, their gradients not compared: b",
            ],
        ),
        (
            linear({"a": 1.0, "b": 3.0}, ("u", "v")),
            [
                "trained parameters whose shapes or numbers differ, their gradients not compared: b"
            ],
        ),
    ],
    ids=["alike", "output", "parameter", "fewer", "numbers"],
)
def test_what_is_not_compared_is_said(second: d5.Network, said: list[str]) -> None:
    assert comparable(FIRST, second)[2] == said
    report = d5.check_network(second, against=FIRST)
    assert report.remarks == said


def test_a_model_in_another_form_says_what_is_not_compared() -> None:
    executor = d5.framework("reference").executor(
        linear({"a": 1.0, "c": 2.0}, ("u", "w"))
    )
    report = d5.check_network(executor, against=FIRST)
    assert report.ok
    assert report.remarks == [
        "outputs matched by their position: 'v' with 'w'",
        "trained parameters of the first alone, their gradients not compared: b",
        "trained parameters of the second alone, their gradients not compared: c",
    ]


def two_scales(merged: bool, wrong: float = 1.0) -> d5.Network:
    """x · w1 · w2 with equal weights, as two or, by an optimiser that merges them, as one."""
    network = d5.Network("scales")
    network.add_input("x", (3, 4))
    ones = np.full(4, 1.5, "float32")
    network.add_param("w1", ones)
    if not merged:
        network.add_param("w2", wrong * ones)
    network.add_node("Mul", ["x", "w1"], ["hidden"])
    network.add_node("Mul", ["hidden", "w1" if merged else "w2"], ["y"])
    network.add_output("y")
    return network


def test_a_merged_weight_is_not_compared_with_one_of_its_parts() -> None:
    for order in ((False, True), (True, False)):
        first, second = map(two_scales, order)
        report = d5.check_network(first, against=second, framework="reference")
        assert report.ok
        assert any("one weight in a file, several" in said for said in report.remarks)
    wrong = two_scales(False, 1.01)
    assert not d5.check_network(
        wrong, against=two_scales(True), framework="reference"
    ).ok
