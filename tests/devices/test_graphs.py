"""Graphs: captured once on the simulated device, replayed by one launch, with the values of eager calls."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import deep500 as d5
from deep500.bench.networks.jobs import GRAPH, NetworkJob
from deep500.bench.operators.jobs import OperatorJob
from deep500.cli import main
from deep500.errors import Unsupported, Wrong
from deep500.frameworks import framework
from deep500.testing import simulated_device

from . import cheats

SIM = "pytorch@sim:0"
FILE = Path(__file__).with_name("cheats.py")


@pytest.fixture(scope="module", autouse=True)
def device() -> Iterator[None]:
    simulated_device.load()
    yield
    torch.accelerator.synchronize()


def captured(function: Any, *arguments: Any) -> Any:
    return framework(SIM).captured(function, arguments)


def twice_and_one(x: torch.Tensor) -> torch.Tensor:
    return x * 2 + 1


def test_a_replay_is_one_launch_of_all_kernels() -> None:
    x = torch.arange(4.0).to("sim")
    replay = captured(twice_and_one, x)
    with simulated_device.counting() as counts:
        y = replay(x)
    assert (counts.launches, counts.kernels, counts.waits) == (1, 2, 0)
    assert y.cpu().tolist() == [1.0, 3.0, 5.0, 7.0]


def test_a_replay_reads_its_inputs_again_and_takes_others() -> None:
    x = torch.ones(4, device="sim")
    replay = captured(twice_and_one, x)
    x.fill_(5)
    assert replay(x).cpu().tolist() == [11.0] * 4
    assert replay(torch.zeros(4, device="sim")).cpu().tolist() == [1.0] * 4


def test_nothing_runs_while_it_is_captured() -> None:
    x = torch.zeros(4, device="sim")
    captured(lambda y: y.add_(1), x)
    assert x.cpu().tolist() == [3.0] * 4  # by the runs before


def test_memory_of_a_graph_is_its_own() -> None:
    """What is freed inside is used by every replay: nobody else may get it."""
    x = torch.ones(64, device="sim")
    replay = captured(lambda x: (x + 1) * (x + 2), x)
    others = [torch.full((64,), 7.0, device="sim") for _ in range(8)]
    assert replay(x).cpu().tolist() == [6.0] * 64
    assert all(other.cpu().tolist() == [7.0] * 64 for other in others)


def test_a_replay_is_as_late_as_its_kernels() -> None:
    x = torch.ones(4, device="sim")
    replay = captured(twice_and_one, x)
    begin, end = (torch.Event("sim", enable_timing=True) for _ in range(2))
    with simulated_device.latency(0.005):
        begin.record()
        replay(x)
        end.record()
        torch.accelerator.synchronize()
    assert begin.elapsed_time(end) >= 10


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * x.sum().item(),
        lambda x: x[x > 0],
        lambda x: x + torch.ones(4).to("sim"),
        lambda x: x + torch.rand(4, device="sim"),
        lambda x: [x + 1, torch.accelerator.synchronize()],
    ],
)
def test_what_waits_or_draws_cannot_be_captured(function: Any) -> None:
    x = torch.ones(4, device="sim")
    with pytest.raises(Unsupported, match=r"cannot be captured in a graph of sim:0"):
        captured(function, x)
    # and the device goes on as before
    assert (x + 1).cpu().tolist() == [2.0] * 4
    assert captured(twice_and_one, x)(x).cpu().tolist() == [3.0] * 4


def test_the_default_stream_is_not_captured() -> None:
    with pytest.raises(RuntimeError, match="default stream"):
        torch.accelerator.Graph().capture_begin()


def test_the_host_has_no_graphs() -> None:
    match = "pytorch captures no graphs, only pytorch on an acc.*: leave graph out"
    with pytest.raises(Unsupported, match=match):
        framework("pytorch").captured(twice_and_one, ())


# ---- as a factor of benchmarks


def operator_job(operator: str, shape: str, **more: Any) -> OperatorJob:
    return OperatorJob(operator, {}, shape, "float32", SIM, GRAPH, "forward", 1, **more)


@pytest.mark.parametrize(
    ("operator", "shape"), [("MatMul", "8x8,8x8"), ("Softmax", "8x8")]
)
def test_an_operator_is_right_before_and_after(operator: str, shape: str) -> None:
    subject = operator_job(operator, shape).checked_subject()
    with simulated_device.counting() as counts:
        subject.run(*subject.arguments)
    assert counts.launches == 1
    assert subject.facts()["kernel"] == GRAPH
    subject.check_again()


def test_a_function_of_a_user_is_captured_too() -> None:
    job = operator_job(f"{FILE}:honest", "16x16", reference="Relu")
    subject: Any = job.checked_subject()
    assert subject.label == GRAPH
    subject.check_again()


@pytest.mark.parametrize("cheat", [cheats.unwritten, cheats.round_trip])
def test_a_cheat_is_found_in_a_graph(cheat: Any) -> None:
    job = operator_job(f"{FILE}:{cheat.__name__}", "16x16", reference="Relu")
    with pytest.raises((Wrong, Unsupported)):
        job.checked_subject()


def network_job(model: str, mode: str, execution: str, **more: Any) -> NetworkJob:
    return NetworkJob(model, {}, SIM, execution, 4, mode, 1, **more)


@pytest.mark.parametrize("mode", ["inference", "training"])
def test_a_network_in_a_graph_has_the_bits_of_an_eager_one(mode: str) -> None:
    graph: Any = network_job("digits_cnn", mode, GRAPH).checked_subject()
    eager: Any = network_job("digits_cnn", mode, "eager").checked_subject()
    with simulated_device.counting() as counts:
        graph.run()
    assert (counts.launches, counts.waits) == (1, 0)
    # a capture runs it before; then both train on, or only infer
    eager.executor.load(graph.executor.arrays())
    fw = framework(SIM)
    for _ in range(3):
        expected, found = eager.run(), graph.run()
        for name, value in expected.items():
            assert fw.array(value).tobytes() == fw.array(found[name]).tobytes()
    mine, theirs = graph.executor.arrays(), eager.executor.arrays()
    assert all(np.array_equal(mine[name], theirs[name]) for name in mine)
    graph.check_again()


def test_a_network_that_draws_is_refused() -> None:
    with pytest.raises(Unsupported, match="draws random numbers, and a graph would"):
        network_job("gpt", "training", GRAPH).subject()


@pytest.mark.parametrize(("cold", "flushed"), [(False, False), (True, True)])
def test_a_cold_network_flushes_the_device(cold: bool, flushed: bool) -> None:
    subject = network_job("digits_cnn", "inference", "eager", cold=cold).subject()
    clock = subject.device_clock
    assert clock is not None
    with simulated_device.counting() as counts:
        clock.begin()
    assert (counts.launches > 0) is flushed


def test_a_network_on_the_host_has_no_graph() -> None:
    job = NetworkJob("digits_cnn", {}, "pytorch", GRAPH, 4, "inference", 1)
    with pytest.raises(Unsupported, match="pytorch captures no graphs"):
        job.subject()


@pytest.mark.slow
def test_the_command_compares_graphs_and_calls(
    capsys: pytest.CaptureFixture, tmp_path: Path
) -> None:
    words = ["bench", "operator", "Softmax", "--shape", "64x64", "--device", "sim"]
    words += ["--kernel", "native", "graph", "--budget", "2", "--threads", "1"]
    assert main([*words, "--out", str(tmp_path / "operators")]) == 0
    shown = capsys.readouterr().out
    assert "graph: the framework's own kernel" in shown
    words = ["bench", "network", "digits_cnn", "--device", "sim", "--threads", "1"]
    words += ["--execution", "eager", "graph", "--cache", "cold", "--budget", "3"]
    assert main([*words, "--out", str(tmp_path / "networks")]) == 0
    assert "pytorch@sim:0 graph" in capsys.readouterr().out
    assert d5.verify(tmp_path / "networks").ok
