"""Both clocks of a visit beside busy loops: nobody honest is accused, and work on another stream is found."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from deep500.errors import Refused, Wrong
from deep500.measure.bench_blocks import TimedBlock
from deep500.measure.candidates import InProcess
from deep500.measure.clock import calibrate
from deep500.measure.device_agreement import check_clocks_agree
from deep500.measure.load import Load
from deep500.measure.plan import PlanEntry
from deep500.measure.session import Session
from deep500.testing import simulated_device

from . import cheats
from .test_cheats import job

BUSY_LOOPS = 4 * (os.cpu_count() or 1)
VISITS = 60
MS = 1_000_000


@pytest.fixture(scope="module")
def busy() -> Iterator[None]:
    """The machine, with more busy loops than CPUs."""
    simulated_device.load()
    command = [sys.executable, "-c", "while True: pass"]
    loops = [subprocess.Popen(command) for _ in range(BUSY_LOOPS)]
    yield
    for loop in loops:
        loop.kill()
        loop.wait()


def timed_beside(name: str, load: Load | None) -> TimedBlock:
    """Visits of an operator of cheats.py, in the sessions of `d5 bench operator`, without the check before them."""
    subject = job(name)
    session = Session([PlanEntry(name, subject, {})], calibrate())
    with simulated_device.latency(0.002):
        visits = session.block([1], [[0]] * VISITS)
    return TimedBlock(
        process=0,
        calls=[1],
        orders=[[0]] * VISITS,
        ns=visits.ns,
        device_ns=visits.device_ns,
        load=load,
    )


LOADS = (None, Load(others=0.9, cpus=2))


@pytest.mark.slow
@pytest.mark.parametrize("load", LOADS)
def test_an_honest_operator_is_not_accused(busy: None, load: Load | None) -> None:
    check_clocks_agree(["honest"], [timed_beside("honest", load)])


@pytest.mark.slow
@pytest.mark.parametrize("load", LOADS)
def test_work_on_another_stream_is_found(
    busy: None, load: Load | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # only the clocks shall find it
    from deep500.bench.operators.subject import OperatorSubject

    monkeypatch.setattr(OperatorSubject, "check", lambda self: None)
    block = timed_beside(cheats.other_stream.__name__, load)
    with pytest.raises(Wrong, match="another stream"):
        check_clocks_agree(["other"], [block])


@pytest.mark.slow
def test_a_statement_that_waits_is_timed_and_one_that_does_not_is_refused(
    busy: None,
) -> None:
    import torch

    x = torch.ones(8, 8, device="sim")

    def waiting() -> None:
        x @ x
        torch.accelerator.synchronize()

    def leaving() -> None:
        x @ x

    with simulated_device.latency(0.002):
        entry = PlanEntry("waiting", InProcess(waiting), {})
        Session([entry], calibrate()).calibrate()
        entry = PlanEntry("leaving", InProcess(leaving), {})
        with pytest.raises(Refused, match="before its work is done"):
            Session([entry], calibrate()).calibrate()


# ---- the rule by itself


def block(host: list[int], device: list[int], others: float | None) -> TimedBlock:
    count = len(host)
    return TimedBlock(
        process=0,
        calls=[1],
        orders=[[0]] * count,
        ns=[[ns] for ns in host],
        device_ns=[[ns] for ns in device],
        load=None if others is None else Load(others=others, cpus=2),
    )


def is_accused(host: list[int], device: list[int], others: float | None) -> bool:
    try:
        check_clocks_agree(["a"], [block(host, device, others)])
    except Wrong:
        return True
    return False


HONEST = [2 * MS] * 3 + [30 * MS] * 17  # descheduled in most of the visits
CHEAT = [10 * MS] * 20


@pytest.mark.parametrize(
    ("others", "accused"), [(None, False), (0.9, False), (0.01, True)]
)
def test_a_busy_machine_explains_most_visits_but_not_all(
    others: float | None, accused: bool
) -> None:
    assert is_accused(HONEST, [2 * MS] * 20, others) is accused
    assert is_accused(CHEAT, [1000] * 20, others)
    # the host lost its CPU between the first mark and its own clock
    assert is_accused([2 * MS] * 20, HONEST, others) is accused


def test_few_visits_on_a_busy_machine_tell_nothing_yet() -> None:
    assert not is_accused(CHEAT[:9], [1000] * 9, 0.9)
    assert is_accused(CHEAT[:10], [1000] * 10, 0.9)
    assert is_accused(CHEAT[:2], [1000] * 2, None)


def test_entries_of_the_host_have_no_second_clock() -> None:
    assert not is_accused([10 * MS] * 20, [0] * 20, 0.01)
