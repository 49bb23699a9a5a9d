"""An engine that is only a function: an honest one passes, a wrong one is found, a broken one is the user's error."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.cli import main
from deep500.errors import Deep500Error

ENGINE = '''
import os
import numpy as np
import deep500 as d5

network = d5.Network.from_onnx({path!r})
executor = d5.framework("reference").executor(network)


def run(inputs):
    return executor.inference(inputs)


def as_list(inputs):
    return list(run(inputs).values())


def prediction(inputs):
    return run(inputs)["logits"]


def wrong(inputs):
    return {{name: 1.001 * y for name, y in run(inputs).items()}}


def wrong_shape(inputs):
    return prediction(inputs)[:, :1]


def nothing(inputs):
    pass


def words(inputs):
    return {{"logits": "ten"}}


def other_name(inputs):
    return {{"y": prediction(inputs)}}


def too_many(inputs):
    return [prediction(inputs)] * 3


def raises(inputs):
    return inputs["no such input"]


def dies(inputs):
    os.abort()


def spoils(inputs):
    """Overwrites its inputs."""
    results = run(inputs)
    inputs["x"][:] = 0
    return results


first = {{}}


def keeps(inputs):
    """Its first result, for all inputs."""
    return first.setdefault("y", run(inputs))


def right_once(inputs):
    first["calls"] = first.get("calls", 0) + 1
    return run(inputs) if first["calls"] != 3 else wrong(inputs)
'''
RAISED = "raises (engine.py, line 47) raised KeyError"
REFUSED = {
    "nothing": "engine.py:nothing returned None: it takes a dict",
    "words": "engine.py:words returned a str as the output 'logits'",
    "other_name": "returned y, and the network has the outputs logits",
    "too_many": "returned 3 outputs, and the network has 1 (logits)",
    "raises": RAISED,
    "absent": "is named 'absent'",
}


def mlp() -> d5.Network:
    return d5.networks.Mlp(hidden=(3,)).build((4,), 2)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    model = tmp_path / "model.onnx"
    mlp().to_onnx(str(model))
    engine = tmp_path / "engine.py"
    engine.write_text(ENGINE.format(path=str(model)))
    return str(model), str(engine)


def checked(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any, str]:
    code = main(["check", "network", *words, "--json"])
    said = capsys.readouterr()
    return code, json.loads(said.out) if said.out else None, said.err


@pytest.mark.parametrize("function", ["run", "as_list", "prediction"])
def test_an_honest_engine_passes(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str], function: str
) -> None:
    model, engine = files
    against = ("--against", f"{engine}:{function}")
    code, found, _ = checked(capsys, model, *against, "--framework", "reference")
    assert code == 0 and found["ok"]
    sides = [report["framework"] for report in found["reports"]]
    assert sides == [f"engine.py:{function}", "reference"]
    for report in found["reports"]:
        assert {check["name"] for check in report["checks"]} == {"whole forward"}


@pytest.mark.parametrize("function", ["wrong", "wrong_shape"])
def test_a_wrong_engine_is_found(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str], function: str
) -> None:
    model, engine = files
    code, found, _ = checked(capsys, model, "--against", f"{engine}:{function}")
    assert code == 1
    assert found["first"]["where"] == f"engine.py:{function}"
    assert found["first"]["case"] in ("logits", "loss")


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("spoils", "it overwrites its inputs: x"),
        ("keeps", "right in the first call, wrong in number 2"),
        ("right_once", "right in the first call, wrong in number 3"),
    ],
)
def test_an_engine_is_called_more_than_once(
    files: tuple[str, str],
    capsys: pytest.CaptureFixture[str],
    function: str,
    reason: str,
) -> None:
    model, engine = files
    against = ("--against", f"{engine}:{function}")
    code, found, _ = checked(capsys, model, *against, "--framework", "reference")
    assert code == 1
    assert found["first"]["where"] == f"engine.py:{function}"
    assert reason in found["first"]["text"]


@pytest.mark.parametrize("function", REFUSED)
def test_a_broken_engine_is_one_line(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str], function: str
) -> None:
    model, engine = files
    code, _, said = checked(capsys, model, "--against", f"{engine}:{function}")
    assert code == 2 and said.count("\n") == 1
    assert REFUSED[function] in said


def test_an_engine_that_dies_is_not_decided(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    model, engine = files
    code, found, _ = checked(capsys, model, "--against", f"{engine}:dies")
    assert code == 3 and found["first"] is None
    assert "RuntimeWarning" not in json.dumps(found)


def test_functions_of_python_and_an_onnxruntime_session() -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    network = mlp()
    content = network.to_onnx().SerializeToString()
    session = onnxruntime.InferenceSession(content)

    def run(inputs: dict[str, np.ndarray]) -> Any:
        return session.run(network.outputs, inputs)

    report = d5.check_network(network, against=run)
    assert report.ok and report.reports[0].where == "run"
    assert any("cannot be seen" in remark for remark in report.remarks)

    def spoilt(inputs: dict[str, np.ndarray]) -> Any:
        return [y + np.float32(0.01) for y in run(inputs)]

    assert d5.check_network(network, against=spoilt).first is not None

    def broken(inputs: dict[str, np.ndarray]) -> Any:
        raise ValueError("no")

    with pytest.raises(
        Deep500Error, match=r"test_engines.py, line \d+\) raised ValueError: no"
    ):
        d5.check_network(network, against=broken)


def test_a_torch_module_called_by_hand() -> None:
    torch = pytest.importorskip("torch")
    network = mlp().subnetwork(inputs=["x"], outputs=["logits"])
    executor = d5.framework("pytorch").executor(network)
    weights = [torch.from_numpy(value) for value in executor.arrays().values()]
    assert len(weights) == 4

    def run(inputs: dict[str, np.ndarray]) -> Any:
        x = torch.from_numpy(inputs["x"])
        hidden = torch.relu(torch.nn.functional.linear(x, *weights[:2]))
        return torch.nn.functional.linear(hidden, *weights[2:]).requires_grad_()

    assert d5.check_network(network, against=run).ok


def test_the_truth_may_be_another_network(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    model, _ = files
    other = mlp()
    name = next(iter(other.params))
    other.params[name] = other.params[name] + np.float32(0.1)
    path = str(tmp_path / "other.onnx")
    other.to_onnx(path)
    assert checked(capsys, model, "--against", model)[0] == 0
    assert checked(capsys, path, "--against", model)[0] == 1
    code, _, said = checked(capsys, model, path, "--against", model)
    assert code == 2 and "give one network beside it" in said


def test_what_differs_is_named_once(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The headline has node, attribute and both values; frameworks do not repeat what float64 lists."""
    network = mlp()
    relu = next(n for n in network.nodes if type(n.operator).__name__ == "Relu")
    paths = []
    for alpha in (0.1, 0.2):
        network.replace_node(relu.name, "LeakyRelu", alpha=alpha)
        paths.append(os.fspath(tmp_path / f"{alpha}.onnx"))
        network.to_onnx(paths[-1])
    frameworks = ("--framework", "reference", "pytorch")
    assert main(["check", "network", *paths, *frameworks]) == 1
    shown = capsys.readouterr().out
    headline = shown.splitlines()[0]
    sentence = "the attribute alpha is 0.1 in the first and 0.2 in the second"
    assert sentence in headline and relu.name in headline
    assert shown.count(f"whole forward '{network.outputs[0]}'") == 1
    assert "of those that float64 lists" in shown
    # an honest pair, and one that only its weights tell apart
    assert main(["check", "network", paths[0], paths[0]]) == 0
    other = d5.Network.from_onnx(paths[0])
    weight = other.trainable[0]
    other.params[weight] = other.params[weight] * np.float32(1.1)
    other.to_onnx(str(tmp_path / "weights.onnx"))
    assert main(["check", "network", paths[0], str(tmp_path / "weights.onnx")]) == 1
    assert f"the weight '{weight}' has other numbers" in capsys.readouterr().out
