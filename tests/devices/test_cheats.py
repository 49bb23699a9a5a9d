"""What gains time on a device without doing the work is refused by `d5 bench operator` and `d5 check operator`."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from deep500.bench.operators.jobs import OperatorJob
from deep500.check.operators.device_faults import DeviceTrial
from deep500.check.operators.subjects import named_reference, parameters_of
from deep500.cli import main
from deep500.contracts.calls import Call
from deep500.errors import Deep500Error, Wrong
from deep500.frameworks import framework
from deep500.frameworks.pytorch import devices
from deep500.measure.bench_blocks import TimedBlock
from deep500.measure.clock import calibrate
from deep500.measure.device_agreement import check_clocks_agree
from deep500.measure.plan import PlanEntry
from deep500.measure.session import Session
from deep500.testing import simulated_device

from . import cheats

FILE = Path(__file__).with_name("cheats.py")
SHAPE = "16x16"


def job(name: str, device: str = "sim:0") -> OperatorJob:
    return OperatorJob(
        operator=f"{FILE}:{name}",
        attributes={},
        shape=SHAPE,
        dtype="float32",
        framework=f"pytorch@{device}",
        kernel="",
        direction="forward",
        threads=0,
        reference="Relu",
    )


def test_the_honest_one_is_timed_by_both_clocks() -> None:
    entry = PlanEntry("honest", job("honest"), {})
    session = Session([entry], calibrate())
    calls = session.calibrate()
    with simulated_device.latency(0.002):
        visits = session.block([1 for _ in calls], [[0]] * 5)
    session.finish()
    for host, device in zip(visits.ns, visits.device_ns, strict=True):
        assert host[0] >= device[0] >= 2_000_000


def block_of(visits: Any) -> TimedBlock:
    return timed_block([[0]] * len(visits.ns), visits.ns, visits.device_ns)


def timed_block(orders: Any, ns: Any, device_ns: Any) -> TimedBlock:
    calls = [1] * (1 + max(orders[0]))
    return TimedBlock(process=0, calls=calls, orders=orders, ns=ns, device_ns=device_ns)


@pytest.mark.parametrize("cheat", cheats.CHEATS, ids=lambda cheat: cheat.__name__)
def test_a_cheat_is_refused_before_it_is_timed(cheat: Callable[..., Any]) -> None:
    with pytest.raises(Wrong, match=cheats.CHEATS[cheat]):
        job(cheat.__name__).checked_subject()


def trial_on(fw: Any, function: Callable[..., Any]) -> DeviceTrial:
    rng = torch.Generator().manual_seed(0)
    contents = [[torch.randn(8, 8, generator=rng).numpy()] for _ in range(2)]

    def bind(arrays: Sequence[Any]) -> tuple:
        return tuple(fw.tensor(array.copy()) for array in arrays)

    call = Call(function, bind(contents[0]), lambda result: result, bind)
    return DeviceTrial(fw, call, contents)


def trial(function: Callable[..., Any]) -> DeviceTrial:
    return trial_on(framework("pytorch@sim:0"), function)


@pytest.mark.parametrize("name", cheats.HONEST)
def test_no_honest_function_is_accused(name: str) -> None:
    assert list(trial(cheats.HONEST[name]).faults()) == []


# those are found by what is right: one is not precise, the other has done nothing when it is read
BY_VALUES = (cheats.half_precision, cheats.later_in_a_thread)
BY_TRIAL = [cheat for cheat in cheats.CHEATS if cheat not in BY_VALUES]


@pytest.mark.parametrize("cheat", BY_TRIAL, ids=lambda cheat: cheat.__name__)
def test_the_trial_by_itself_finds_a_cheat(cheat: Callable[..., Any]) -> None:
    cheats.memory.clear()
    assert list(trial(cheat).faults())


def test_there_are_enough_of_both() -> None:
    assert len(cheats.CHEATS) >= 10 and len(cheats.HONEST) >= 30


# ---- clocks


def test_events_that_see_less_than_the_device_does_are_refused() -> None:
    block = timed_block([[0]] * 3, [[10_000_000]] * 3, [[1000]] * 3)
    with pytest.raises(Wrong, match=r"a takes 10 ms .* 0.001 ms by its events.*stream"):
        check_clocks_agree(["a"], [block])


def test_events_that_see_more_than_the_host_waits_for_are_refused() -> None:
    block = timed_block([[0]], [[1_000_000]], [[9_000_000]])
    with pytest.raises(Wrong, match="one of the clocks was changed"):
        check_clocks_agree(["a"], [block])


def test_what_launching_costs_is_allowed() -> None:
    orders = [[0, 1, 1, 0]]
    host = [[250_000, 10_000_000, 10_000_000, 250_000]]
    by_events = [[20_000, 9_000_000, 9_000_000, 20_000]]
    for device in (by_events, [[0, 0, 0, 0]], None):
        check_clocks_agree(["a", "b"], [timed_block(orders, host, device)])


def test_an_event_that_tells_less_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = PlanEntry("patched", job("honest"), {})
    session = Session([entry], calibrate())
    session.calibrate()
    monkeypatch.setattr(devices.TorchEvent, "elapsed_ns", lambda self, end: 1000)
    with simulated_device.latency(0.002):
        visits = session.block([1], [[0]] * 5)
    with pytest.raises(Wrong, match="by its events"):
        check_clocks_agree(["patched"], [block_of(visits)])


# ---- the command


def test_a_class_that_computes_in_numpy_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import deep500 as d5\n\nclass Same(d5.CustomPythonOp):\n"
        "    def forward(self, inputs):\n        return inputs[0]\n"
    )
    assert main(["check", "operator", f"{file}:Same", "--device", "sim"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("d5: Same computes in the host's memory, and this is py")


def test_a_reference_may_be_built_in() -> None:
    leaky = named_reference("LeakyRelu(alpha=0.5)")
    [y] = leaky(np.array([-2.0, 4.0]))
    assert y.tolist() == [-1.0, 4.0]
    assert parameters_of(leaky) == (("x",), 1)
    with pytest.raises(Deep500Error, match="no operator is named 'Relux'. Did you"):
        named_reference("Relux")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "code", "text"),
    [("honest", 0, "sim:0"), ("round_trip", 1, "copies to the host")],
)
def test_the_check_of_the_command(
    name: str, code: int, text: str, capsys: pytest.CaptureFixture
) -> None:
    words = ["check", "operator", f"{FILE}:{name}", "--device", "sim"]
    assert main([*words, "--reference", "Relu", "--dtype", "float32"]) == code
    assert text in capsys.readouterr().out


@pytest.mark.slow
def test_the_bench_of_the_command_reports_both_times(
    capsys: pytest.CaptureFixture,
) -> None:
    words = ["bench", "operator", "MatMul", "--shape", "64x64,64x64", "--budget", "1"]
    assert main([*words, "--device", "cpu", "sim", "--threads", "1"]) == 0
    out = capsys.readouterr().out
    assert "pytorch@sim:0" in out
