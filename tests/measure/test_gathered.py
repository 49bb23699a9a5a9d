"""Groups of entries in processes of their own, jobs, checks after the last call, and rates of known work."""

import itertools
import json
from dataclasses import replace

import pytest

from deep500.errors import Deep500Error, Wrong
from deep500.measure.candidates import Statement, candidate_from_json
from deep500.measure.clock import calibrate
from deep500.measure.gathered import GatheredSession
from deep500.measure.numbers import Rate
from deep500.measure.plan import PlanEntry, make_plan
from deep500.measure.rates import rates
from deep500.measure.running import execute
from deep500.measure.session import Session
from deep500.user_files import imported

PEAK = {
    "value": 1e9,
    "unit": "",
    "what": "",
    "n": 9,
    "median": 1e9,
    "low": 1e9,
    "high": 1e9,
    "note": "",
}
PEAKS = {
    "flops": {"float32": PEAK},
    "bandwidth": PEAK,
    "machine": {},
    "measured": "",
    "note": "",
}


def plan(*entries, **settings):
    made = make_plan({"a": "pass"}, seed=1, **{"budget_s": 0.5, **settings})
    return replace(made, entries=tuple(entries))


def note_pid(path):
    return Statement(
        "pass", f"import os; open({str(path)!r}, 'a').write(str(os.getpid()) + '\\n')"
    )


def test_groups_have_processes_of_their_own_and_rounds_visit_group_by_group(tmp_path):
    entries = [
        PlanEntry(name, note_pid(tmp_path / group), {}, group)
        for name, group in (("a", "one"), ("b", "two"), ("c", "one"), ("d", "two"))
    ]
    made = plan(*entries, processes=1)
    for order in itertools.islice(made.orders(0), 20):
        assert order[4:] == order[:4][::-1]
        assert {entries[i].group for i in order[:2]} in ({"one"}, {"two"})
    result = execute(made)
    assert set(result.names) == set("abcd") and result.blocks
    one, two = ({*(tmp_path / group).read_text().split()} for group in ("one", "two"))
    assert len(one) == len(two) == 1 and one != two


def test_an_error_in_one_group_ends_all(tmp_path):
    made = plan(
        PlanEntry("a", Statement("pass"), {}, "one"),
        PlanEntry("b", Statement("1 / 0"), {}, "two"),
    )
    session = GatheredSession(made, calibrate())
    with pytest.raises(Deep500Error, match="ZeroDivisionError"):
        session.calibrate()
    session.kill()
    assert all(s.child.process.poll() is not None for s in session.sessions.values())


JOB = """
from deep500.errors import Wrong
from deep500.measure.candidates import DataCandidate, Subject


class Counter(Subject):
    def __init__(self, most):
        self.most, self.calls = most, 0

    def run(self):
        self.calls += 1

    def check(self):
        self.run()

    def check_again(self):
        if self.calls > self.most:
            raise Wrong(f"it was called more than {self.most} times")


class CountJob(DataCandidate):
    def __init__(self, most):
        self.most = most

    @property
    def settings(self):
        return {"most": self.most}

    def subject(self):
        return Counter(self.most)
"""


@pytest.fixture
def counting(tmp_path):
    """The class of a job that counts its calls, and is wrong after too many."""
    (tmp_path / "counting.py").write_text(JOB)
    return imported(tmp_path / "counting.py").CountJob


def test_a_job_is_checked_once_after_the_last_call(counting):
    session = Session([PlanEntry("a", counting(4), {})], calibrate())
    session.block([3], [[0]])
    session.finish()
    with pytest.raises(StopIteration):
        session.timers[0](1)
    session = Session([PlanEntry("a", counting(3), {})], calibrate())
    session.block([3], [[0]])
    with pytest.raises(Wrong, match="more than 3 times"):
        session.finish()


def test_wrong_after_timing_leaves_nothing(counting, tmp_path):
    with pytest.raises(Wrong, match="more than 3 times"):
        execute(
            plan(PlanEntry("a", counting(3), {}), processes=1),
            tmp_path / "run",
        )
    assert not (tmp_path / "run").exists()


def test_a_job_travels_as_data(counting):
    document = json.loads(json.dumps(PlanEntry("a", counting(4), {}).to_json()))
    assert document["text"] == "CountJob(most=4)"
    again = candidate_from_json(document["job"])
    assert isinstance(again, counting)
    assert again.most == 4


def test_rates_turn_the_interval_over():
    work = {"flops": 8e8, "bytes": 1e8, "dtype": "float32"}
    found = rates((2.0, 1.0, 4.0), work, PEAKS)
    assert found.flops == Rate(4e8, 2e8, 8e8)
    assert found.roofline.value == pytest.approx(0.4)
    assert found.roofline.limited_by == "compute"
    assert found.roofline.low == pytest.approx(0.2)
    unknown = {"flops": 8, "bytes": 8, "dtype": "int8"}
    refused = rates((2.0, None, None), unknown, PEAKS)
    assert refused.roofline is None
    assert "int8" in refused.no_roofline


@pytest.mark.parametrize("work", [{"flops": "many"}, {"flops": -1}, {"bytes": True}])
def test_work_of_another_form_is_refused(work):
    with pytest.raises(Deep500Error, match="is not a count"):
        rates((2.0, 1.0, 4.0), work, None)


def test_peaks_of_another_form_are_refused():
    with pytest.raises(Deep500Error, match="peaks"):
        rates(
            (2.0, 1.0, 4.0),
            {"flops": 1, "bytes": 1},
            {"flops": 3},
        )


def test_the_layout_orders_groups_and_the_setups_inside_them(tmp_path):
    log = tmp_path / "log"
    entries = [
        PlanEntry(
            name,
            Statement("pass", f"open({str(log)!r}, 'a').write({name!r})"),
            {},
            group,
        )
        for name, group in (("a", "one"), ("b", "two"), ("c", "one"), ("d", "two"))
    ]
    made = replace(plan(*entries, processes=1), seed=4)
    result = execute(made)
    setups = (result.blocks[0].layout or {})["setups"]
    groups = list(dict.fromkeys(entries[i].group for i in setups))
    expected = [
        entries[i].name for g in groups for i in setups if entries[i].group == g
    ]
    assert list(log.read_text()) == expected
    assert expected != ["a", "c", "b", "d"]  # the order in which they were given
