"""How many untimed visits there are before a timed one: found by measuring, and made."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from deep500 import measure
from deep500.measure.candidates import Statement
from deep500.measure.clock import calibrate
from deep500.measure.commands import CommandSession
from deep500.measure.fresh import FreshSession
from deep500.measure.plan import make_plan
from deep500.measure.session import Session
from deep500.measure.warming import Allowance, untimed_visits

SECOND_NS = 1e9


class Cached:
    """Visits that take longer, the sooner they come after a disturbance."""

    def __init__(self, usual_ns: int, extra: list[float]) -> None:
        self.usual_ns = usual_ns
        self.extra = extra
        self.since = 100
        self.visits = 0

    def disturb(self) -> None:
        self.since = 0

    def visit(self) -> int:
        extra = self.extra[self.since] if self.since < len(self.extra) else 0.0
        self.since += 1
        self.visits += 1
        return round(self.usual_ns * (1 + extra))


def search(cached: Cached, visit: Callable[[], int], allowance: Allowance) -> int:
    usual_ns = cached.usual_ns
    return untimed_visits(visit, usual_ns, cached.disturb, 0, 0.01, allowance)


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ([], 0),
        ([0.004], 0),  # within the tolerance
        ([4.0], 1),
        ([4.0, 0.2, 0.03], 3),
        ([0.0, 0.3], 2),  # the first alone does not tell
    ],
)
def test_visits_are_made_until_times_are_those_of_a_row(extra, expected):
    cached = Cached(10_000, extra)
    allowance = Allowance(SECOND_NS, 1)
    found = search(cached, cached.visit, allowance)
    assert found == expected
    assert allowance.left_ns < SECOND_NS and allowance.entries == 0


def test_the_usual_visit_counts_not_the_one_that_was_interrupted():
    cached = Cached(10_000, [])
    interruptions = itertools.cycle([1, 1, 30])

    def visit() -> int:
        return cached.visit() * next(interruptions)

    found = search(cached, visit, Allowance(SECOND_NS, 1))
    assert found == 0


def test_a_long_visit_is_preceded_by_one_at_most():
    cached = Cached(5_000_000, [0.5, 0.4, 0.3, 0.2])
    found = search(cached, cached.visit, Allowance(SECOND_NS, 1))
    assert found == 1


@pytest.mark.parametrize(("neighbours_ns", "expected"), [(0, 5), (4_000_000, 7)])
def test_beside_long_neighbours_there_may_be_as_many_as_take_as_long(
    neighbours_ns, expected
):
    """A last-level cache keeps data only after several visits."""
    cached = Cached(400_000, [2.0, 1.6, 1.2, 0.8, 0.5, 0.3, 0.1])
    found = untimed_visits(
        cached.visit,
        cached.usual_ns,
        cached.disturb,
        neighbours_ns,
        0.01,
        Allowance(SECOND_NS, 1),
    )
    assert found == expected


@pytest.mark.parametrize(
    ("usual_ns", "expected"), [(5_000, 4), (1_000_000, 1), (200_000_000, 0)]
)
def test_without_time_the_number_is_assumed_and_nothing_is_called(usual_ns, expected):
    cached = Cached(usual_ns, [])
    found = search(cached, cached.visit, Allowance(0, 1))
    assert found == expected
    assert cached.visits == 0


def test_untimed_visits_are_made_before_every_timed_one_and_not_recorded():
    seen: list[str] = []
    plan = make_plan({"a": lambda: seen.append("a"), "b": lambda: seen.append("b")})
    session = Session(plan.entries, calibrate())
    visits = session.block([1, 3], [[0, 1, 1, 0]], [2, 1])
    runs = ["".join(run) for _, run in itertools.groupby(seen)]
    assert runs == ["aaa", "b" * 12, "aaa"]
    assert [len(times) for times in visits.ns] == [4]
    assert visits.untimed_ns > 0


@pytest.mark.parametrize("kind", ["here", "fresh", "command"])
def test_every_kind_of_session_is_prepared(kind):
    text = "sum(range(2000))" if kind != "command" else "true"
    value = measure.Command(text) if kind == "command" else Statement(text)
    plan = make_plan({"a": value, "b": value}, seed=1)
    session: Any
    if kind == "here":
        session = Session(plan.entries, calibrate())
    elif kind == "fresh":
        session = FreshSession(plan, calibrate())
    else:
        session = CommandSession(plan.entries)
    calls = session.calibrate()
    prepared = session.prepare(calls, 0.01, 0.0)
    [[*times]] = session.block(calls, [[0, 1, 1, 0]], prepared.untimed).ns
    if kind != "here":
        session.close()
    assert len(times) == 4
    # too little time to measure: short visits have untimed ones before them
    assert all(count >= 1 for count in prepared.untimed)


def test_cold_caches_and_single_entries_have_no_untimed_visits():
    single = make_plan({"a": "pass"})
    session = Session(single.entries, calibrate())
    assert session.prepare([1], 0.01, 1.0).untimed == [0]
    pair = make_plan({"a": "pass", "b": "pass"})
    cold = Session(pair.entries, calibrate(), cold=True)
    assert cold.prepare([1, 1], 0.01, 1.0).untimed == [0, 0]


def test_blocks_record_untimed_visits_and_visits_in_a_row():
    candidates = {"a": lambda: sum(range(500)), "b": lambda: sum(range(600))}
    result = measure.run(candidates, budget_s=1.0, precision=1e-9, seed=1)
    assert all(len(block.untimed) == 2 for block in result.blocks)
    rows = [block.alone for block in result.blocks if block.alone]
    assert rows and all(len(row) == 2 for row in rows)
    entry = result.derived.entries[0]
    assert entry.untimed == result.blocks[0].untimed[0]


def test_a_short_entry_gets_a_row_beside_a_long_one():
    candidates = {"short": lambda: sum(range(100)), "long": lambda: sum(range(100_000))}
    result = measure.run(candidates, budget_s=3.0, precision=1e-9, seed=1)
    rows = [block.alone for block in result.blocks if block.alone]
    assert sum(len(row[0]) for row in rows) > 10 * sum(len(row[1]) for row in rows)
    assert result.derived.entries[0].neighbours is not None
