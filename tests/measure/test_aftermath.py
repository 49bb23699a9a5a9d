"""Work that goes on after the clock has stopped is found; threads that only spin for a while are not work."""

import pytest

from deep500 import measure
from deep500.measure.aftermath import SHARE, can_be_watched
from deep500.measure.clock import calibrate
from deep500.measure.fresh import FreshSession
from deep500.measure.plan import make_plan

pytestmark = pytest.mark.skipif(
    not can_be_watched(), reason="this kernel does not list children"
)

WORK = "def work(): sum(range(100_000))\n"
QUEUE = (
    WORK
    + """
import queue, threading
q = queue.SimpleQueue()
def serve():
    while True:
        q.get()
        work()
threading.Thread(target=serve, daemon=True).start()
"""
)
SPIN = (
    QUEUE
    + """
import time
woken = threading.Event()
def spin():
    while True:
        woken.wait()
        woken.clear()
        end = time.thread_time() + 0.02
        while time.thread_time() < end: pass
threading.Thread(target=spin, daemon=True).start()
"""
)
BUSY = """
import threading
def run():
    while True: pass
threading.Thread(target=run, daemon=True).start()
"""
PROCESS = """
import os
def fork_and_return():
    if os.fork() == 0:
        sum(range(2_000_000))
        os._exit(0)
"""


def after(statement: str, setup: str) -> float | None:
    """What a fresh process finds, in which nothing else goes on."""
    plan = make_plan({"a": statement}, setup=setup)
    session = FreshSession(plan, calibrate())
    try:
        calls = session.calibrate(watched=True)
        [share] = session.prepare(calls, 0.01, 0.0).after
    finally:
        session.kill()
    return share


@pytest.mark.parametrize(
    ("statement", "setup"),
    [("q.put(1)", QUEUE), ("fork_and_return()", PROCESS)],
    ids=["thread", "process"],
)
def test_work_that_was_put_off_is_found(statement, setup):
    share = after(statement, setup)
    assert share is not None and share > SHARE


@pytest.mark.parametrize(
    ("statement", "setup"),
    [("work()", QUEUE), ("work(); woken.set()", SPIN), ("pass", "")],
    ids=["nothing", "spinning threads", "no threads"],
)
def test_honest_work_is_left_alone(statement, setup):
    assert after(statement, setup) == 0


@pytest.mark.slow
def test_a_background_that_was_busy_before_says_nothing():
    assert after("pass", BUSY) is None


def test_a_statement_that_hands_its_work_to_a_thread_gets_a_mark_and_no_verdict():
    result = measure.run(
        {"thread": "q.put(1)", "honest": "work()"},
        setup=QUEUE,
        budget_s=3.0,
        processes=3,
        seed=1,
    )
    [comparison] = result.derived.comparisons
    assert comparison.verdict == "inconclusive" and comparison.meaning.withheld
    assert any("goes on after its clock has stopped" in n for n in comparison.notes)
    thread, honest = result.derived.entries
    assert thread.after > SHARE and not honest.after
    assert any("goes on after" in note for note in thread.notes)
    assert not any("goes on after" in note for note in honest.notes)
