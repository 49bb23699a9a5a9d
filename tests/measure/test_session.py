import gc
import os
import time

import pytest

from deep500.errors import Deep500Error
from deep500.measure.clock import calibrate
from deep500.measure.fresh import FreshSession
from deep500.measure.plan import make_plan
from deep500.measure.session import Session

ORDERS = [[0, 1, 1, 0], [1, 0, 0, 1]]


def opened(kind, **candidates):
    plan = make_plan(candidates, timeout_s=60, seed=1)
    return (
        Session(plan.entries, calibrate())
        if kind == "here"
        else FreshSession(plan, calibrate())
    )


@pytest.fixture(params=["here", "fresh"])
def kind(request):
    return request.param


def closed(session):
    if isinstance(session, FreshSession):
        session.close()


def test_calibration_makes_intervals_long_enough_and_blocks_have_the_shape_of_their_orders(
    kind,
):
    session = opened(kind, a="pass", b="sum(range(10_000))")
    calls = session.calibrate()
    visits = session.block(calls, ORDERS)
    closed(session)
    assert calls[0] > calls[1] == 1
    assert [len(t) for t in visits.ns] == [len(t) for t in visits.cpu_ns] == [4, 4]
    assert all(ns > 0 for t in visits.ns for ns in t)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 / 0", "'a' raised ZeroDivisionError"),
        ("raise ValueError('one\\ntwo')", "ValueError: one two"),
    ],
)
def test_an_error_in_the_timed_code_names_the_candidate(kind, text, message):
    session = opened(kind, a=text)
    with pytest.raises(Deep500Error, match=message) as error:
        session.calibrate()
    closed(session)
    assert "\n" not in str(error.value)


def test_an_error_in_a_later_call_names_the_candidate():
    session = opened("here", a="pass", b="next(it)")
    session.timers[1] = lambda calls: next(iter(()))
    with pytest.raises(Deep500Error, match="'b' raised StopIteration"):
        session.block([1, 1], ORDERS)


def test_garbage_collection_is_off_while_the_clock_runs_and_on_again_after():
    seen = []
    plan = make_plan({"a": lambda: seen.append(gc.isenabled())})
    session = Session(plan.entries, calibrate())
    session.block([1], [[0]])
    assert seen == [False]
    assert gc.isenabled()


def test_cold_caches_time_single_calls():
    plan = make_plan({"a": "pass"})
    assert Session(plan.entries, calibrate(), cold=True).calibrate() == [1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV"),
        ("import os; os._exit(7)", "exit code 7"),
        ("import sys; sys.exit(3)", r"sys.exit\(3\)"),
    ],
)
def test_a_process_that_dies_is_named_and_explained(text, message):
    session = opened("fresh", a=text)
    with pytest.raises(Deep500Error, match=message):
        session.calibrate()
    session.kill()


def test_a_process_that_never_answers_is_given_up_and_leaves_nothing_behind():
    plan = make_plan({"a": "while True: pass"}, timeout_s=0.5)
    session = FreshSession(plan, calibrate())
    began = time.monotonic()
    with pytest.raises(Deep500Error, match="no answer from 'a' within 0.5 s"):
        session.calibrate()
    session.kill()
    assert time.monotonic() - began < 60
    with pytest.raises(ProcessLookupError):
        os.kill(session.child.process.pid, 0)


def test_what_the_timed_code_prints_does_not_disturb():
    session = opened(
        "fresh", a="print('hello'); import sys; print('x', file=sys.stderr)"
    )
    assert session.calibrate()
    session.close()
