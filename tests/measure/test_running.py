"""Real runs, short ones: nothing here asserts on how fast anything is, only on what is said about it.

A test that needs an interval or a verdict fixes the number of processes, or lets a coarse precision end the run by its
number of samples: a short budget alone gives no number on a busy machine.
"""

import time
from typing import Any

import numpy as np
import pytest

from deep500 import bundle, measure
from deep500.errors import Deep500Error
from deep500.measure.bench_blocks import check_blocks
from deep500.measure.bench_plan import check_plan
from deep500.measure.interference import COULD_EXPLAIN
from deep500.measure.statistics.repetition import best_rounds
from deep500.schema import encoded


def spin(units):
    def work():
        for _ in range(units):
            sum(range(200))

    return work


def test_callables_run_in_one_process_and_the_result_says_so():
    candidates = {"a": spin(20), "b": spin(40)}
    result = measure.run(candidates, budget_s=30, precision=0.5, seed=1)
    assert isinstance(result.samples("a"), np.ndarray)
    assert "one process, between-process variance unknown" in result.derived.notes
    found = result.compare("a", "b")
    assert found.verdict == "slower"  # twice the work; no machine hides that
    assert found.low <= found.ratio <= found.high
    assert result.compare("b", "a").verdict == "faster"


def test_statements_run_in_fresh_processes_both_candidates_in_each():
    result = measure.run(
        {"a": "sum(range(2000))", "b": "sum(range(4000))"},
        budget_s=2,
        processes=4,
        seed=1,
    )
    assert [len(a) for a in result.samples("a")] == [
        len(b) for b in result.samples("b")
    ]
    assert len(result.processes) == 4
    assert result.compare("a", "b").verdict == "slower"
    assert "process" in result.interval("a").method


def test_a_fixed_number_of_processes_is_kept():
    result = measure.run({"a": "pass"}, budget_s=0.8, processes=4)
    assert len(result.samples("a")) == 4


def test_functions_are_found_by_name():
    result = measure.run({"f": "platform:machine"}, budget_s=0.5)
    assert result.derived.entries[0].n > 0


def test_an_expensive_setup_leaves_one_process_and_says_so():
    result = measure.run(
        {"a": "sum(range(1000))"}, setup="import time; time.sleep(0.5)", budget_s=1
    )
    assert isinstance(result.samples("a"), np.ndarray)
    assert "one process, between-process variance unknown" in result.derived.notes


def test_commands_bring_their_own_processes():
    result = measure.run(
        {"a": measure.Command("true"), "b": measure.Command("sleep 0.01")},
        budget_s=8,
        precision=0.5,
    )
    found = result.compare("a", "b")
    # Beside others, nobody can tell a command that sleeps from one that waits for a CPU.
    assert found.verdict == "slower" or any(
        COULD_EXPLAIN in note for note in found.notes
    )
    assert not result.derived.notes


def test_a_run_that_is_not_precise_enough_says_how_much_is_missing():
    noisy = "time.sleep(random.random() * 0.01)"
    result = measure.run(
        {"a": noisy},
        setup="import time, random",
        budget_s=1,
        processes=3,
        precision=0.001,
    )
    assert result.derived.stopped == "budget"
    assert result.derived.status.startswith("inconclusive, about ")
    assert result.derived.more > 0


def test_a_precise_run_stops_before_its_budget():
    began = time.monotonic()
    result = measure.run(
        {"a": "sleep(0.002)"},
        setup="from time import sleep",
        budget_s=300,
        precision=0.5,
    )
    assert time.monotonic() - began < 200
    assert result.derived.stopped == "precise"


def test_factors_are_measured_at_every_level():
    result = measure.run(
        {"a": "sum(range(n))"}, factors={"n": [100, 100_000]}, budget_s=1
    )
    small, large = (e.median for e in result.derived.entries)
    assert small < large


def test_the_control_is_reported_beside_the_comparisons():
    candidates = {"a": spin(20), "b": spin(40)}
    derived = measure.run(candidates, budget_s=30, precision=0.5, control=True).derived
    assert derived.control.base == "a"
    assert [c.other for c in derived.comparisons] == ["b"]


def test_batched_calls_are_labelled_and_their_tail_is_refused():
    result = measure.run({"a": "pass"}, budget_s=0.5)
    entry = result.derived.entries[0]
    assert entry.batch > 1
    assert all("timed together" in q.refused for q in entry.quantiles)
    with pytest.raises(measure.Refused, match="timed together"):
        result.interval("a", quantile=0.99)


def test_every_block_is_in_the_bundle_and_the_numbers_come_back(tmp_path):
    result = measure.run(
        {"a": "sum(range(500))"}, budget_s=0.8, folder=tmp_path / "run"
    )
    found = bundle.read(tmp_path / "run")
    assert found.finished and not found.problems
    assert found.blocks == encoded(result.blocks)
    again = measure.Result.load(tmp_path / "run")
    assert again.derived == result.derived
    result.save(tmp_path / "copy")
    assert measure.Result.load(tmp_path / "copy").derived == result.derived


def test_a_failure_before_the_first_block_leaves_nothing(tmp_path):
    with pytest.raises(Deep500Error, match="ZeroDivisionError"):
        measure.run({"a": "1 / 0"}, budget_s=0.5, folder=tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_a_failure_later_keeps_what_was_measured(tmp_path):
    setup = "calls = 0"
    text = "calls += 1\nif calls > 3000: raise RuntimeError('late')\nsum(range(5000))"
    with pytest.raises(Deep500Error, match="late"):
        measure.run(
            {"a": text},
            setup=setup,
            budget_s=20,
            processes=1,
            precision=1e-9,
            folder=tmp_path / "run",
        )
    found = bundle.read(tmp_path / "run")
    assert found.blocks and not found.finished and not found.problems


def test_an_unknown_candidate_is_named():
    result = measure.run({"a": spin(1)}, budget_s=0.2)
    with pytest.raises(Deep500Error, match="no candidate is named 'x'; there are: a"):
        result.samples("x")


def test_rounds_per_process_follow_kalibera_and_jones():
    rng = np.random.default_rng(0)
    series = [rng.normal(shift, 1.0, 400) for shift in rng.normal(0, 0.5, 200)]
    best = best_rounds(series, round_s=0.01, start_s=0.25)
    # T1 = 1, T2 = 0.25
    assert best == pytest.approx(np.sqrt(0.25 / 0.01 * 1 / 0.25), rel=0.25)
    same = [rng.normal(0, 1.0, 400) for _ in range(3)]
    assert best_rounds([s - np.median(s) for s in same], 0.01, 0.25) is None


def test_one_candidate_with_its_control_is_not_done_before_it_is_precise():
    derived = measure.run(
        {"a": "time.sleep(random.random() * 0.01)"},
        setup="import time, random",
        budget_s=1,
        precision=0.001,
        control=True,
    ).derived
    assert derived.stopped == "budget"


def test_a_result_keeps_the_environment_it_was_measured_in(tmp_path):
    result = measure.run({"a": spin(5)}, budget_s=0.3)
    result.environment = dict(result.environment, marked=True)
    result.save(tmp_path / "first")
    measure.Result.load(tmp_path / "first").save(tmp_path / "second")
    environment: Any = bundle.read(tmp_path / "second").documents["environment.json"]
    assert environment["marked"]


def test_few_rounds_in_most_processes_do_not_break_the_balance():
    assert (
        best_rounds([np.array([1.0]), np.array([2.0]), np.array([1.0, 2.0])], 0.1, 0.1)
        is None
    )


@pytest.mark.parametrize("processes", [1, 3, 4, 6])
def test_a_median_is_the_middle_of_the_processes_that_were_measured(processes):
    """One process beside a busy neighbour must not move what is called a median beyond all modes."""
    medians = [85, 80, 470, 100, 90, 86][:processes]
    plan = check_plan(measure.plan.make_plan({"a": "pass"}, seed=1).to_json())
    blocks = []
    for process, median in enumerate(medians):
        rounds = [[median + i % 3 - 1] for i in range(60)]
        block = {"process": process, "calls": [1], "orders": [[0]] * 60, "ns": rounds}
        blocks.append(block)
    result = measure.Result(plan, check_blocks(plan, blocks))
    [entry] = result.derived.entries
    assert entry.median == pytest.approx(1e-9 * np.median(medians))
    assert entry.low <= entry.median <= entry.high
