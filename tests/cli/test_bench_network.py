"""d5 bench network, from a file to a bundle; planted: a slow node, a wrong kernel, an engine that dies."""

import json

import pytest

from deep500.cli import main
from deep500.networks import Mlp

QUICK = ("--budget", "1.5", "--threads", "1")
MINE = '''
import os, signal, time
import numpy as np
import deep500 as d5
from deep500.contracts.operator import Operator


class Twice(Operator):
    """2 x, with kernels that may go wrong."""

    how: str = "right"

    def forward(self, xp, x):
        if self.how == "slow":
            time.sleep(0.004)
        return x + x

    def backward(self, xp, dy):
        return dy + dy

    def pytorch(self, torch, x):
        if self.how == "dies":
            os.kill(os.getpid(), signal.SIGSEGV)
        return 2 * x if self.how != "wrong" else 2.1 * x


def build(how="right", layers=4):
    network = d5.Network("mine")
    x = network.add_input("x", ("batch", 16))
    for i in range(layers):
        weight = network.add_param(f"w{i}", 0.1 * np.ones((16, 16), "float32"))
        x = network.add_node("MatMul", (x, weight), name=f"product{i}")
        x = network.add_node("Tanh", (x,), name=f"tanh{i}")
        if i == 2:
            x = network.add_node(Twice(how=how), (x,), name="twice")
    network.add_output(x)
    return network
'''


@pytest.fixture
def mine(tmp_path, monkeypatch):
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return f"{path}:build"


def bench(capsys, *words):
    code = main(["bench", "network", *map(str, words), *QUICK, "--json"])
    said = capsys.readouterr()
    return code, json.loads(said.out) if said.out else None, said.err


@pytest.mark.slow
def test_a_slow_node_is_on_top_and_overhead_cannot_hide(mine, capsys):
    code, found, _ = bench(
        capsys, mine, "--framework", "reference", "--set", "how=slow", "--train"
    )
    assert code == 0
    inference, training = found["breakdowns"]
    top = inference["operators"][0]
    assert (top["node"], top["operator"], top["kernel"]) == (
        "twice",
        "Twice",
        "composed",
    )
    assert top["median"] >= 0.004
    assert top["low"] <= top["median"] <= top["high"] and top["n"] >= 15
    assert top["median"] > 0.5 * inference["operators_sum"]["median"]
    whole, parts, rest = (
        inference[k] for k in ("network", "operators_sum", "overhead")
    )
    assert whole["median"] >= 0.004
    assert (
        abs(rest["median"] - (whole["median"] - parts["median"]))
        < 0.5 * whole["median"]
    )
    directions = {(row["node"], row["direction"]) for row in training["operators"]}
    assert {("twice", "forward"), ("twice", "backward")} <= directions


@pytest.mark.slow
def test_the_bundle_verifies_shows_and_compares(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    model, out = tmp_path / "mlp.onnx", tmp_path / "out"
    Mlp(hidden=(8,)).build((4,), 3).to_onnx(str(model))
    code, found, _ = bench(
        capsys,
        model,
        "--framework",
        "reference",
        "--batch",
        1,
        8,
        "--out",
        out,
        "--report",
    )
    assert code == 0 and found["kind"] == "network_bench"
    assert [entry["levels"] for entry in found["entries"]] == [
        {"batch": 1, "mode": "inference"},
        {"batch": 8, "mode": "inference"},
    ]
    page = (tmp_path / "out.html").read_text()
    for title in (
        "Where the time goes",
        "Latency against batch",
        "Memory against prediction",
    ):
        assert title in page
    assert main(["verify", str(out)]) == 0
    assert main(["show", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "reference eager (composed)" in shown and "allocator" in shown
    assert main(["compare", str(out), str(out)]) in (0, 3)
    lines = (out / "samples.jsonl").read_text()
    (out / "samples.jsonl").write_text(lines.replace('"breakdown"', '"breakdawn"', 1))
    assert main(["verify", str(out)]) == 1


@pytest.mark.slow
def test_a_wrong_kernel_is_not_timed(mine, capsys):
    words = ("--framework", "pytorch", "reference", "--set", "how=wrong")
    code, found, _ = bench(capsys, mine, *words)
    assert code == 1
    assert [entry["name"].split()[0] for entry in found["entries"]] == ["reference"]
    code, _, err = bench(capsys, mine, "--framework", "pytorch", "--set", "how=wrong")
    assert code == 1
    assert (
        "pytorch eager gives a wrong" in err
        and "`d5 check network` finds the node" in err
    )


@pytest.mark.slow
def test_an_engine_that_dies_costs_a_line(mine, capsys, tmp_path):
    words = (
        "--framework",
        "pytorch",
        "reference",
        "--set",
        "how=dies",
        "--out",
        tmp_path / "out",
    )
    code, found, _ = bench(capsys, mine, *words)
    assert code == 0
    assert [entry["name"].split()[0] for entry in found["entries"]] == ["reference"]
    assert main(["show", str(tmp_path / "out")]) == 0
    assert "left out: `pytorch eager inference batch=1`" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--batch", "0"], "--batch 0: give 1 or more"),
        (["--batch", "2", "2"], "--batch names 2 2: give each once"),
        (["--framework", "pytorhc"], "pytorhc"),
        (["--set", "depth=3"], "depth"),
        (
            ["--execution", "compiled", "--framework", "reference"],
            "reference has no compiled execution of networks, only eager",
        ),
        (
            ["--execution", "eager", "--framework", "onnxruntime"],
            "onnxruntime has no eager execution of networks, only deferred",
        ),
    ],
)
def test_what_cannot_be_measured_is_said_in_one_line(words, said, mine, capsys):
    code, _, err = bench(capsys, mine, *words)
    assert code == 2
    assert said in err and "Traceback" not in err
