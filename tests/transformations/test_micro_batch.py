"""MicroBatch: the network computes the same in micro-batches; limits that are too small are refused."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.networks import AlexNet, DigitsCnn, ResNet
from deep500.transformations import MicroBatch

BATCH = 4
SOME = ("direct", "im2col")


@pytest.fixture(scope="module")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Times that one test has measured are there for the next."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True)
def own_home(shared_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEP500_HOME", str(shared_home))


def tiny(kind: Any) -> d5.Network:
    settings, shape, outputs = kind.tiny
    return kind(**settings).build(shape, outputs, seed=1)


def divided(**settings: Any) -> MicroBatch:
    return MicroBatch(batch=BATCH, threads=1, algorithms=SOME, **settings)


def trained(network: d5.Network, framework: str) -> dict[str, np.ndarray]:
    executor = d5.framework(framework).executor(network, seed=3)
    random = np.random.default_rng(0)
    [(name, spec)] = [i for i in network.inputs.items() if "float" in i[1].dtype]
    x = random.standard_normal((BATCH, *spec.shape[1:])).astype("float32")
    label = random.integers(0, 3, BATCH)
    outputs = executor.inference_and_backprop({name: x, "label": label})
    engine = executor.framework
    values = {**outputs, **{f"d{k}": v for k, v in executor.gradients.items()}}
    return {key: np.array(engine.array(value)) for key, value in values.items()}


@pytest.mark.parametrize(
    ("framework", "kind"),
    [
        ("pytorch", DigitsCnn),
        ("pytorch", ResNet),
        ("pytorch", AlexNet),
        ("reference", DigitsCnn),
        ("jax", DigitsCnn),
        pytest.param("tensorflow", DigitsCnn, marks=pytest.mark.slow),
        ("onnxruntime", DigitsCnn),
    ],
)
def test_the_network_computes_the_same(framework: str, kind: Any) -> None:
    network = tiny(kind)
    after = divided(workspace="90 KiB")(network)
    kinds = {type(node.operator).__name__ for node in after.nodes}
    assert "MicroBatchedConv" in kinds
    assert "Conv" not in kinds
    assert after.trainable == network.trainable
    expected = trained(network, framework)
    for name, value in trained(after, framework).items():
        size = np.abs(expected[name]).max()
        np.testing.assert_allclose(
            value, expected[name], 1e-4, 1e-4 * size, err_msg=name
        )


def test_the_check_of_networks_finds_nothing() -> None:
    network = tiny(DigitsCnn)
    report = d5.check_network(
        divided(workspace="90 KiB")(network),
        against=network,
        framework="pytorch",
        dimensions={"batch": BATCH},
        isolated=False,
    )
    assert report.ok, report


@pytest.mark.parametrize("policy", ["undivided", "powers of two", "any"])
@pytest.mark.parametrize("division", [False, True])
def test_plans_keep_to_the_limit(policy: str, division: bool) -> None:
    network = tiny(DigitsCnn)
    limit = 30_000
    transformation = divided(workspace=str(limit), policy=policy, division=division)
    plans = transformation.plans(network)
    workspaces = [each.plan.workspace for each in plans]
    assert (sum(workspaces) if division else max(workspaces)) <= limit
    for each in plans:
        assert each.plan.examples == BATCH
        if policy == "undivided":
            assert len(each.plan.kernels) == 1
        assert each.again is not None
        assert each.again.plan == each.plan.text
        if each.undivided and not division:
            assert each.plan.seconds <= each.undivided.seconds
    # the gradient by the images is of no use to anybody
    directions = [each.direction for each in plans if each.layer.node == "conv1"]
    assert directions == ["forward", "filter"]


def test_a_divided_plan_that_disappoints_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path))
    from deep500.micro_batches import timing

    def measured(runs: Any) -> dict[str, Any]:
        """Parts look fast at first, and take long when they are measured again."""
        times = {}
        for name in runs:
            seconds = 1.0
            if name.startswith("1 "):
                seconds = 1e-3
            if " x " in name or " + " in name:
                seconds = 2.0
            times[name] = (seconds, None, None, 1)
        return times

    monkeypatch.setattr(timing, "_measured", measured)
    plans = divided(workspace="1 MiB").plans(tiny(DigitsCnn))
    assert {len(each.plan.kernels) for each in plans} == {1}
    assert all(each.again and each.again.seconds == 1.0 for each in plans)


def test_a_limit_that_is_too_small_names_the_least() -> None:
    network = tiny(DigitsCnn)
    transformation = MicroBatch(
        "8", batch=BATCH, algorithms=("im2col",), policy="undivided", threads=1
    )
    with pytest.raises(d5.Deep500Error, match="need (\\d+) bytes at least") as error:
        transformation(network)
    least = int(str(error.value).split("need ")[1].split()[0])
    names = {"algorithms": ("im2col",), "policy": "undivided", "threads": 1}
    MicroBatch(str(least), batch=BATCH, **names).plans(network)
    with pytest.raises(d5.Deep500Error, match=f"need {least} bytes"):
        MicroBatch(str(least - 1), batch=BATCH, **names).plans(network)
    with pytest.raises(d5.Deep500Error, match="bytes at least") as summed:
        MicroBatch(str(least), batch=BATCH, division=True, **names).plans(network)
    assert int(str(summed.value).split("need ")[1].split()[0]) > least


def test_settings_that_make_no_sense_are_refused() -> None:
    mistakes: dict[str, dict[str, Any]] = {
        "'much': give an amount of memory": {"workspace": "much"},
        "SplitBatch divides a single node": {"workspace": "conv1"},
        "no policy of micro-batches is named 'all'": {"policy": "all"},
        "no convolution is named 'winograd'": {"algorithms": ("winograd",)},
        "a batch of 0": {"batch": 0},
        "threads is -1": {"threads": -1},
    }
    for message, settings in mistakes.items():
        with pytest.raises(d5.Deep500Error, match=message):
            MicroBatch(**{"workspace": "1 MiB", **settings})
    with pytest.raises(d5.Deep500Error, match="give it, as in MicroBatch"):
        MicroBatch("1 MiB")(tiny(DigitsCnn))


def test_other_networks_stay_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path))
    network = d5.networks.create("mlp", shape=(1, 4, 4), outputs=3)
    after = MicroBatch()(network)
    assert [node.name for node in after.nodes] == [node.name for node in network.nodes]
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(
    "verb", ["show", "check", pytest.param("bench", marks=pytest.mark.slow)]
)
def test_from_the_command_line(
    verb: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from deep500.cli import main

    transformation = f"MicroBatch('90 KiB', batch=4, algorithms={SOME!r}, threads=1)"
    argv = [verb, "network", "digits_cnn", "--transform", transformation]
    if verb == "bench":
        argv += ["--train", "--batch", "4", "--budget", "1"]
        argv += ["--out", str(tmp_path / "result")]
    assert main(argv) == 0
    assert "MicroBatch" in capsys.readouterr().out
