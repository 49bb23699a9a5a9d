"""Networks on several frameworks: honest ones pass, what is wrong is found where it is."""

import json
import os
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import deep500 as d5
from deep500.check.networks import processes
from deep500.check.networks.data import drawn_data
from deep500.check.networks.divergence import node_check
from deep500.check.networks.matching import paired
from deep500.check.networks.reproducing import reproduction
from deep500.check.networks.truth import Truth
from deep500.check.report import Reports, report_of
from deep500.errors import Deep500Error
from deep500.frameworks import available_frameworks

ROOT = Path(__file__).parents[3]
bench = runpy.run_path(str(ROOT / "benchmarks" / "network_check.py"))
LAYERS = 4


def checked(network, *frameworks: str, **options) -> Reports:
    """In this process: planted errors are known here alone."""
    names = frameworks or ("pytorch",)
    return d5.check_network(network, names, **{"isolated": False, **options})


def wrong(report: Reports, direction: str) -> list[str]:
    return [c.case for c in report.checks if c.ok is False and c.name == direction]


quick_first = [
    pytest.param(
        build, marks=[pytest.mark.slow] * (build.__name__ != "deep_transformer")
    )
    for build in bench["DEEP"]
]


@pytest.mark.parametrize("build", quick_first, ids=lambda build: build.__name__)
def test_an_honest_network_gives_no_alarm(build):
    report = checked(build(LAYERS), "reference", "pytorch")
    assert report.ok and report.first is None, report.text
    directions = {check.name for check in report.checks}
    assert directions == {
        "forward",
        "backward",
        "step",
        "whole forward",
        "whole backward",
    }
    names = {node.name for node in build(LAYERS).nodes}
    for direction in ("forward", "backward"):
        judged = {c.case for c in report.checks if c.name == direction}
        assert judged == names
    assert all(c.value <= c.bound for c in report.checks)
    assert {c.kernel for c in report.checks if c.where == "pytorch"} >= {"native"}


@pytest.mark.slow
@pytest.mark.parametrize("framework", available_frameworks())
@pytest.mark.parametrize("build", bench["NETWORKS"], ids=lambda build: build.__name__)
def test_deep_networks_give_no_alarm(build, framework):
    report = d5.check_network(build(), [framework])
    assert report.ok, report.text


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize(
    "framework", ["pytorch", pytest.param("onnxruntime", marks=pytest.mark.slow)]
)
def test_a_planted_error_is_located_at_its_node(framework, direction):
    network = bench["deep_residual"](3)
    spoilt = bench["planted"](network, "conv2", framework, direction)
    report = checked(spoilt, framework)
    first = report.first
    assert first is not None and not report.ok
    assert (first.case, first.name, first.where) == (
        "conv2",
        direction,
        framework,
    )
    assert first.value > first.bound > 0
    assert wrong(report, direction) == ["conv2"]
    assert "conv2" in report.text


@pytest.mark.slow
@pytest.mark.parametrize("number", range(20))
def test_planted_errors_in_deep_networks_are_located(number):
    args = type("Args", (), {"seed": 1, "framework": bench["FRAMEWORKS"]})
    assert bench["located_plant"](number, args)


def test_a_wrong_step_is_found(monkeypatch):
    adam = d5.optimizers.Adam

    def stretched(self, torch, params, grads, states, step):
        torch._foreach_add_(params, grads, alpha=-1.01 * self.learning_rate)

    network = bench["deep_mlp"](2)
    assert not wrong(checked(network, optimizer="Adam"), "step")
    monkeypatch.setattr(adam, "pytorch", stretched)
    report = checked(network, optimizer="Adam")
    assert report.first.name == "step"
    assert set(wrong(report, "step")) == set(network.trainable)


def executor_with_a_wrong_pass(monkeypatch, hidden: bool) -> None:
    """A framework whose clean-up of whole networks spoils a node; if `hidden`, only where nobody looks at it."""
    pytorch = d5.framework("pytorch")
    right = type(pytorch)._executor

    def spoiling(self, network, seed, compile):
        names = [node.name for node in network.nodes]
        if (
            "conv2" in names
            and len(names) > 5
            and not (hidden and "conv2.out" in network.outputs)
        ):
            network = bench["planted"](network, "conv2", "pytorch", "forward")
        return right(self, network, seed, compile)

    monkeypatch.setattr(type(pytorch), "_executor", spoiling)


def test_an_error_in_the_whole_network_alone_is_located(monkeypatch):
    executor_with_a_wrong_pass(monkeypatch, hidden=False)
    report = checked(bench["deep_cnn"](LAYERS))
    assert (report.first.case, report.first.name) == ("conv2", "whole forward")
    assert not wrong(report, "forward") and not wrong(report, "backward")


def test_an_error_that_looking_at_values_hides_is_told(monkeypatch):
    executor_with_a_wrong_pass(monkeypatch, hidden=True)
    report = checked(bench["deep_cnn"](LAYERS))
    assert report.first.name == "whole forward"
    assert "a pass over the whole network" in report.first.text


def test_what_a_framework_lacks_is_unavailable_and_the_rest_goes_on():
    class Relu(d5.operators.Relu):
        def pytorch(self, torch, x):
            raise NotImplementedError("no such kernel")

    network = bench["deep_cnn"](LAYERS)
    network.nodes = [
        replace(node, operator=Relu()) if node.name == "activation2" else node
        for node in network.nodes
    ]
    report = checked(network)
    assert not report.ok and report.first is None and not report.reports[0].wrong
    unavailable = [c for c in report.checks if c.name == "forward" and c.ok is None]
    assert [c.case for c in unavailable] == ["activation2"]
    assert "no such kernel" in unavailable[0].text
    judged = [c for c in report.checks if c.name == "forward" and c.ok]
    assert len(judged) == len(network.nodes) - 1


ABORTING = """
import os, time
import deep500 as d5

class Aborting(d5.operators.Relu):
    def pytorch(self, torch, x):
        os.abort()

class Sleeping(d5.operators.Relu):
    def pytorch(self, torch, x):
        time.sleep(100)
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "aborting_operators.py").write_text(ABORTING)
    monkeypatch.syspath_prepend(str(tmp_path))
    import aborting_operators  # type: ignore[import-not-found]

    yield aborting_operators
    del sys.modules["aborting_operators"]


def with_operator(operator) -> d5.Network:
    network = bench["deep_mlp"](1)
    network.nodes = [
        replace(node, operator=operator) if node.name == "activation0" else node
        for node in network.nodes
    ]
    return network


@pytest.mark.slow
def test_an_engine_that_aborts_costs_a_line(module):
    report = d5.check_network(with_operator(module.Aborting()), ["pytorch"])
    assert report.first.case == "activation0" and "SIGABRT" in report.first.text
    others = [c for c in report.checks if c.case != "activation0"]
    assert others and all(c.ok for c in others)
    assert "whole network was not run" in report.reports[0].lost


@pytest.mark.slow
def test_an_engine_that_never_answers_is_not_decided(module):
    report = d5.check_network(
        with_operator(module.Sleeping()), ["pytorch"], timeout_s=8
    )
    assert report.first is None and not report.ok
    assert "no answer" in report.reports[0].lost
    assert report.reports[0].verdict == "not decided"


def test_two_forms_of_a_network():
    network = bench["deep_residual"](LAYERS)
    same = checked(network.copy(), against=network)
    assert same.ok and [side.where for side in same.reports] == ["float64", "pytorch"]
    assert {c.name for c in same.checks} == {"whole forward", "whole backward"}
    other = network.copy()
    other.params["weight2"] = other.params["weight2"] * np.float32(1.01)
    report = checked(other, against=network)
    assert report.first.case == "conv2.out" and report.first.where == "float64"


@pytest.mark.parametrize("old, new", [("out", "result"), ("loss", "result")])
def test_a_renamed_output_is_the_same_output(old, new):
    def network(output, weight):
        net = d5.Network("net")
        x = net.add_input("x", (2, 3))
        w = net.add_param("w", np.full((3, 1), weight, np.float32))
        y = net.add_node("MatMul", (x, w))
        net.add_node("ReduceSum", (y,), [output], keepdims=0)
        net.add_output(output)
        return net

    report = checked(network(new, 0.5), against=network(old, 0.5))
    assert report.ok, report.text
    assert any(c.name == "whole backward" for c in report.checks)
    assert not checked(network(new, 0.6), against=network(old, 0.5)).ok


def test_one_framework_may_be_a_text():
    network = bench["deep_mlp"](1)
    report = d5.check_network(network, "reference", isolated=False)
    assert [side.where for side in report.reports] == ["reference"]


def test_a_change_that_only_gradients_show_is_found():
    network = bench["deep_mlp"](2)
    other = network.copy()
    other.nodes = [
        replace(node, operator=Doubled()) if node.name == "activation1" else node
        for node in other.nodes
    ]
    report = checked(other, against=network)
    assert report.first.name == "whole backward"


class Doubled(d5.operators.Tanh):
    """The right value, and twice its derivative."""

    def backward(self, xp, dy, y):
        return 2 * super().backward(xp, dy, y)


def test_an_executor_against_its_network():
    network = bench["deep_cnn"](2)
    executor = d5.framework("pytorch").executor(network)
    assert checked(executor, against=network).ok
    other = network.copy()
    other.params["bias1"] = other.params["bias1"] + np.float32(0.01)
    assert not checked(executor, against=other).ok
    with pytest.raises(Deep500Error, match="against"):
        d5.check_network(executor)


def test_names_are_paired_before_places():
    assert paired(["output", "loss"], ["loss", "linear"], "outputs") == {
        "loss": "loss",
        "output": "linear",
    }
    with pytest.raises(Deep500Error, match="different outputs"):
        paired(["a", "b"], ["a"], "outputs")


def test_a_network_without_a_loss_and_without_labels():
    network = d5.networks.Mlp(hidden=(8,)).predictor((5,), 3)
    report = checked(network, "reference", "pytorch")
    assert report.ok, report.text
    backward = {c.case for c in report.checks if c.name == "backward"}
    assert {node.name for node in network.nodes} <= backward


def test_whole_numbers_stay_within_what_takes_them():
    data = drawn_data(bench["deep_transformer"](5), seed=3, dimensions={"batch": 50})
    assert data["tokens"].shape == (50, 6) and data["tokens"].max() == 19
    assert data["label"].max() == 9 and data["label"].min() == 0


def test_data_of_the_user_are_used_and_checked():
    network = bench["deep_mlp"](1)
    data = drawn_data(network, 5)
    assert checked(network, data=data).ok
    with pytest.raises(Deep500Error, match="no 'label'"):
        checked(network, data={"x": data["x"]})
    with pytest.raises(Deep500Error, match="shape"):
        checked(network, data=data | {"x": data["x"][:, :3]})


@pytest.mark.parametrize(
    ("framework", "direction"),
    [
        ("onnxruntime", "forward"),
        pytest.param("onnxruntime", "backward", marks=pytest.mark.slow),
        pytest.param("pytorch", "forward", marks=pytest.mark.slow),
        pytest.param("pytorch", "backward", marks=pytest.mark.slow),
    ],
)
def test_the_files_of_a_divergence_run_by_themselves(tmp_path, framework, direction):
    network = bench["deep_cnn"](2)
    truth = Truth(network, "loss", drawn_data(network), 0)
    forward = dict((node.name, (node, example)) for node, example in truth.forward())
    backward = dict((node.name, (node, example)) for node, example in truth.backward())
    node, example = (forward if direction == "forward" else backward)["conv1"]
    check = node_check(framework, direction, "conv1", "Conv", False, 1.0, 0.5)
    for name, content in reproduction(check, node, example).items():
        (tmp_path / name).write_bytes(content)
    paths = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]}
    command = [sys.executable, "reproduce.py"]
    done = subprocess.run(
        command, cwd=tmp_path, env=paths, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == (1 if direction == "forward" else 3)
    assert all(float(line.rpartition(" ")[2]) < 1e-5 for line in lines)


def test_a_lost_export_is_remarked():
    network = bench["deep_residual"](1)
    report = checked(network)
    assert any("norm0" in remark for remark in report.remarks)


def test_the_report_is_data():
    report = checked(bench["deep_mlp"](1))
    data = json.loads(json.dumps(report.to_json()))
    assert data["ok"] is True and data["first"] is None
    again = [report_of(side, "it") for side in data["reports"]]
    assert again[0].verdict == "ok" and len(again[0].checks) == len(report.checks)


def test_a_crash_too_many_ends_the_questions(monkeypatch):
    process = processes.OtherProcess("pytorch", 0, 10.0)
    try:
        for _ in range(processes.MOST_CRASHES - 1):
            assert isinstance(process._crashed(processes.Died("x")), processes.Crashed)
        assert isinstance(process._crashed(processes.Died("x")), processes.RunnerLost)
        with pytest.raises(processes.RunnerLost):
            process.ask("forward", "nothing")
    finally:
        process.close()


def test_shapes_that_only_the_data_bring():
    network = d5.Network("dynamic")
    network.add_input("x", ("batch", 6))
    network.add_input("shape", (2,), "int64")
    network.add_param("weight", np.linspace(-1, 1, 18, dtype="float32").reshape(6, 3))
    network.add_node("MatMul", ("x", "weight"), ["product"], name="product")
    network.add_node("Reshape", ("product", "shape"), ["y"], name="reshaped")
    network.add_node("Tanh", ("y",), ["z"], name="curved")
    network.add_output("z")
    data = {"x": np.ones((4, 6), "float32"), "shape": np.array([2, 6])}
    report = checked(network, "reference", "pytorch", data=data)
    assert report.ok, report.text
    assert {"product", "reshaped", "curved"} <= {c.case for c in report.checks}


def test_what_is_other_in_training_is_judged_in_both_modes():
    network = d5.Network("training")
    network.add_input("x", ("batch", 4, 5, 5))
    for name, value, trainable in (
        ("scale", 1, True),
        ("shift", 0, True),
        ("mean", 0, False),
        ("variance", 1, False),
    ):
        network.add_param(name, np.full(4, value, "float32"), trainable)
    inputs = ("x", "scale", "shift", "mean", "variance")
    outputs = ["normal", "new_mean", "new_variance"]
    network.add_node(
        "BatchNormalization", inputs, outputs, name="norm", training_mode=1
    )
    network.add_node("Dropout", ("normal", 0.5, True), ["dropped"], name="dropout")
    network.add_node("ReduceMean", ("dropped",), ["loss"], name="average", keepdims=0)
    network.add_output("loss")
    network.state_updates = {"mean": "new_mean", "variance": "new_variance"}
    report = checked(network, "reference", "pytorch", "onnxruntime")
    assert report.ok, report.text
