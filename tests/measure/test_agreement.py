"""The times that a process reports are checked against the clock of the process that asked."""

from dataclasses import replace
from typing import Any

import pytest

from deep500 import measure
from deep500.errors import Deep500Error
from deep500.measure.agreement import (
    Clocks,
    checked_calls,
    checked_clocks,
    checked_rounds,
    disagreement,
)
from deep500.measure.bench_blocks import TimedBlock
from deep500.schema import decoded

ORDERS = [[0, 1], [1, 0]]
NONSENSE: list[Any] = [
    None, 3, "x", {}, [], [[1, 1]], [[1, 1], [1]], [[1, 1], [1, "1"]], [[1, 1], [1, 1.0]], [[1, 1], [1, 0]],
    [[1, 1], [1, -5]], [[1, 1], [1, True]], [[1, 1], [1, 1 << 70]], [[1, 1], [1, float("nan")]], [[1, 1], None],
]  # fmt: skip


@pytest.mark.parametrize("rounds", NONSENSE, ids=str)
def test_times_that_make_no_sense_are_refused_in_one_line(rounds: Any) -> None:
    with pytest.raises(Deep500Error, match="it sent no times") as error:
        checked_rounds(rounds, ORDERS, 1)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "calls", [None, [], [1], [1, 0], [1, "2"], [1, 1 << 62], {"0": 1}], ids=str
)
def test_numbers_of_calls_that_make_no_sense_are_refused(calls: Any) -> None:
    with pytest.raises(Deep500Error, match="it sent no numbers of calls"):
        checked_calls(calls, 2)


def test_more_time_than_has_passed_is_refused() -> None:
    rounds = checked_rounds([[400, 300], [100, 100]], ORDERS, 1)
    assert checked_clocks(1000, 950, rounds) == Clocks(1000, 950, 900)
    with pytest.raises(Deep500Error, match="900 ns of timed work in 899 ns"):
        checked_clocks(1000, 899, rounds)
    for spent in (1001, -1, None, "900", float("nan")):
        with pytest.raises(Deep500Error, match="of work while 1000 ns passed"):
            checked_clocks(1000, spent, rounds)


SECOND = 1_000_000_000


BARE = TimedBlock(process=0, calls=[1], orders=[[0], [0]], ns=[[1], [1]])


def block(wall: float, spent: float, timed: float) -> TimedBlock:
    clocks = Clocks(round(wall * SECOND), round(spent * SECOND), round(timed * SECOND))
    return replace(BARE, clocks=clocks)


def test_what_is_missing_is_said() -> None:
    honest, busy = block(1, 0.97, 0.95), block(1, 0.6, 0.55)
    for blocks in ([honest], [honest, busy], [BARE], []):
        assert disagreement(blocks, True, True) is None
    assert "worked for 0.2 s of the 1 s" in str(
        disagreement([block(1, 0.2, 0.2)], True, True)
    )
    # a message for every visit
    assert disagreement([block(1, 0.2, 0.2)], True, False) is None
    assert "add up to 0.5 s of the 1 s" in str(
        disagreement([block(1, 1, 0.5)], True, True)
    )
    # caches were emptied meanwhile
    assert disagreement([block(1, 1, 0.5)], False, True) is None


@pytest.mark.parametrize("times", [(3, 4, 1), (4, 3, 4), (4, 3, -1), (1,), ()])
def test_clocks_of_a_bundle_that_contradict_themselves_are_refused(times: Any) -> None:
    clocks = dict(zip(("wall_ns", "spent_ns", "timed_ns"), times, strict=False))
    good = {"process": 0, "calls": [1], "orders": [[0]], "ns": [[1]]}
    assert decoded(TimedBlock, good, "it")
    with pytest.raises(Deep500Error, match="/clocks"):
        decoded(TimedBlock, good | {"clocks": clocks}, "it")


def fake_clock(code: str, *modules: str) -> str:
    """A setup that changes the clock of the candidates after it."""
    return (
        f"import sys, time\nreal = time.perf_counter_ns\nfake = {code}\n"
        f"for name in {modules!r}: sys.modules[name].now = fake"
    )


def run(setup: str) -> measure.Result:
    """Two candidates; whichever is set up last has the clock that the other's setup left.

    Even a single round is longer than the difference between clocks that is noticed.
    """
    setup += "\nfrom time import sleep"
    candidates = {
        "first": measure.Statement("sleep(0.1)", setup),
        "second": measure.Statement("sleep(0.101)", setup),
    }
    return measure.run(candidates, budget_s=1.5, processes=1, timeout_s=120.0)


def test_a_patched_module_of_the_clock_changes_nothing() -> None:
    result = run("import time; time.perf_counter_ns = time.monotonic_ns = lambda: 0")
    assert not any("clock" in note for note in result.derived.notes)


def test_a_clock_that_is_made_slower_is_noticed() -> None:
    setup = fake_clock("lambda: real() // 10", "deep500.measure.candidates")
    notes = run(setup).derived.notes
    assert any("changed the clock" in note for note in notes)


@pytest.mark.parametrize("code", ["lambda: real() * 10", "lambda: real() // 10"])
def test_clocks_that_contradict_each_other_are_refused(code: str) -> None:
    setup = fake_clock(code, "__main__", "deep500.measure.candidates")
    with pytest.raises(Deep500Error, match="something in it changed the clock"):
        run(setup)
