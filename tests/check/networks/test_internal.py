"""An exception in Deep500's own code is an internal error, with exit code 70, and never a divergence of a network."""

import numpy as np
import pytest

import deep500 as d5
from deep500.cli import main
from deep500.errors import Deep500Error, InternalError
from deep500.frameworks import framework
from deep500.supervision.child import Child

LINES = "def broken(*arguments):\n    return arguments[0].no_such_name_of_ours\n"


def broken(file: str):
    """A function that fails as if it were written in this file of Deep500."""
    package = d5.__file__.replace("__init__.py", "")
    functions: dict = {}
    exec(compile(LINES, package + file, "exec"), functions)
    return functions["broken"]


def network() -> d5.Network:
    return d5.networks.Mlp(hidden=(3,)).build((4,), 2)


def test_a_defect_in_a_kernel_is_ours(monkeypatch):
    """In the executor, for a single operator, in a check and in a benchmark."""
    monkeypatch.setattr(d5.operators.Relu, "pytorch", broken("operators/relu.py"))
    batch = {"x": np.ones((2, 4), "float32"), "label": np.zeros(2, "int64")}
    with pytest.raises(InternalError, match=r"operators/relu.py, line 2"):
        framework("pytorch").executor(network()).inference(batch)
    with pytest.raises(InternalError, match="a defect of Deep500"):
        framework("pytorch").evaluate(d5.operators.Relu(), [np.ones(3, "float32")])
    with pytest.raises(InternalError, match="AttributeError"):
        d5.check_network(network(), ["pytorch"], isolated=False)


def test_a_defect_in_judging_is_ours(monkeypatch, tmp_path, capsys):
    from deep500.check.networks import judging

    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    path = tmp_path / "model.onnx"
    network().to_onnx(str(path))
    monkeypatch.setattr(judging, "output_check", broken("check/operators/comparing.py"))
    words = ["check", "network", str(path), "--framework", "reference"]
    assert main([*words, "--out", str(tmp_path / "out")]) == 70
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert "internal error: AttributeError" in said and "comparing.py, line 2" in said


def test_what_a_framework_or_a_user_raises_is_no_defect_of_ours():
    """A wrong shape in PyTorch's own code, and an operator of a user's file, which this one stands for."""

    class Mine(d5.operators.Relu):
        def pytorch(self, torch, x):
            return x.no_such_name

    net = d5.Network("mine")
    net.add_output(
        net.add_node(Mine(), (net.add_input("x", ("batch", 3)),), name="mine")
    )
    with pytest.raises(Deep500Error, match="node 'mine'.*no_such_name"):
        framework("pytorch").executor(net).inference({"x": np.ones((2, 3), "float32")})


def test_a_defect_in_a_child_process_is_one_here_with_its_traceback():
    function = f"{__name__}:defect"
    request = {"function": function, "arguments": {}}
    planted = pytest.raises(InternalError, match="planted")
    with Child.fresh("deep500.supervision.isolation") as child, planted as caught:
        child.ask(request, "result", 60)
    assert "InternalError" in caught.value.__notes__[0]


def defect(progress):
    raise InternalError("planted")
