"""`d5 check network`: verdicts, exit codes, bundles, and one line for what cannot be done."""

import json

import numpy as np
import pytest

import deep500 as d5
from deep500.cli import main


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "mlp.onnx"
    d5.networks.Mlp(hidden=(4,)).build((3,), 2).to_onnx(path)
    return str(path)


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))


def run(capsys, *words: object) -> tuple[int, str, str]:
    code = main([str(word) for word in words])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_a_right_network_and_its_bundle(capsys, model, tmp_path):
    folder = tmp_path / "bundle"
    words = ("check", "network", model, "--framework", "reference", "--out", folder)
    code, text, _ = run(capsys, *words, "--set", "batch=3")
    assert code == 0 and "reference ok" in text and "whole backward" in text
    assert run(capsys, "verify", folder)[0] == 0
    assert run(capsys, "show", folder)[1].strip() == text.strip()
    _, page, _ = run(capsys, "report", folder, "--format", "markdown")
    assert "Nodes on reference" in page
    data = json.loads(run(capsys, "show", folder, "--json")[1])
    assert data["ok"] and data["kind"] == "network_check" and data["first"] is None
    [report] = data["reports"]
    names = {check["name"] for check in report["checks"]}
    assert names >= {"forward", "backward", "step"}


def test_two_files(capsys, model, tmp_path):
    network = d5.Network.from_onnx(model)
    name = network.trainable[0]
    network.params[name] = network.params[name] * np.float32(1.1)
    network.to_onnx(tmp_path / "other.onnx")
    assert run(capsys, "check", "network", model, model)[0] == 0
    code, text, _ = run(capsys, "check", "network", model, tmp_path / "other.onnx")
    assert code == 1 and "first value of a common name" in text


def test_data_from_a_file(capsys, model, tmp_path):
    arrays = {"x": np.ones((5, 3), "float32"), "label": np.zeros(5, "int64")}
    np.savez(tmp_path / "data.npz", x=arrays["x"], label=arrays["label"])
    words = ("check", "network", model, "--framework", "reference", "--data")
    assert run(capsys, *words, tmp_path / "data.npz")[0] == 0
    np.savez(tmp_path / "part.npz", x=arrays["x"])
    code, _, said = run(capsys, *words, tmp_path / "part.npz")
    assert code == 2 and "no 'label'" in said and said.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["missing.onnx"], "missing.onnx"),
        (["MODEL", "--framework", "plane"], "no framework is named 'plane'"),
        (["MODEL", "--timeout", "0"], "more than 0"),
        (["MODEL", "--set", "batch=0"], "1 or more"),
        (["MODEL", "--optimizer", "Adom"], "Did you mean 'Adam'"),
        (["MODEL", "--data", "missing.npz"], "missing.npz"),
        (["MODEL", "--batch", "4", "--set", "batch=3"], "name two sizes of one"),
        (
            ["MODEL", *2 * ["--transform", "DeadNodes"]],
            "--transform: it is given twice",
        ),
    ],
)
def test_bad_requests_are_one_line(capsys, model, words, said):
    words = [model if word == "MODEL" else word for word in words]
    code, _, text = run(capsys, "check", "network", *words)
    assert code == 2 and said in text and text.count("\n") == 1


def test_what_is_checked_has_to_be_said(capsys):
    code, _, said = run(capsys, "check", "netwerk", "x")
    assert code == 2 and "Did you mean 'network'" in said


USERS = """
from deep500.contracts.transformation import Transformation

class Fails(Transformation):
    def apply(self, network):
        raise RuntimeError("no such pattern")
"""


def test_a_users_transformation_that_raises_is_named(capsys, model, tmp_path):
    file = tmp_path / "passes.py"
    file.write_text(USERS)
    words = ("check", "network", model, "--framework", "reference")
    code, _, error = run(capsys, *words, "--transform", f"{file}:Fails")
    assert code == 2 and error.count("\n") == 1
    assert (
        "Fails.apply (passes.py, line 6) raised RuntimeError: no such pattern" in error
    )
