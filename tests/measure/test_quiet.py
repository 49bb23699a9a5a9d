"""Before a run: waiting for a quiet machine, and the warning that there are too few CPUs."""

import time

import pytest

from deep500.errors import Deep500Error
from deep500.measure.quiet import LOOK_S, Moment, lack_of_cpus, wait_for_quiet
from deep500.measure.sensing.others import allowed_cpus

from .busy import busy_machine, d5

CPUS = len(allowed_cpus())


def test_one_look_does_not_wait():
    began = time.monotonic()
    moment = wait_for_quiet(0)
    assert moment.waited_s == 0 and 0 <= moment.others <= 1
    assert time.monotonic() - began < LOOK_S + 60


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf")])
def test_a_wait_that_makes_no_sense_is_refused(seconds):
    with pytest.raises(
        Deep500Error, match="--wait-for-quiet .*: give seconds, 0 or more"
    ):
        wait_for_quiet(seconds)


def test_threads_beyond_the_free_cpus_are_warned_of():
    assert lack_of_cpus(Moment(0.0, 0, 0), CPUS) is None
    assert lack_of_cpus(Moment(None, 0, 0), CPUS) is None
    warning = lack_of_cpus(Moment(0.9, 0, 0), CPUS + 1, "use --threads 1")
    assert (
        f"{CPUS + 1} threads are to run on {CPUS} CPUs" in warning
        and "others use 90 %" in warning
    )
    assert "use --threads 1, wait, or give --wait-for-quiet SECONDS" in warning
    alone = lack_of_cpus(Moment(1.0, 0, 0), 1, "use --threads 1")
    assert "a thread is to run" in alone and "--threads" not in alone


@pytest.mark.slow
def test_a_machine_that_stays_busy_is_waited_for_then_measured_and_recorded(tmp_path):
    from deep500.bundle.records.loading import load

    options = [
        "--budget",
        "0.5",
        "--wait-for-quiet",
        "1.5",
        "--out",
        str(tmp_path / "run"),
    ]
    with busy_machine(2 * CPUS):
        done = d5("bench", "sum(range(3000))", *options)
    assert (
        "warning: a thread is to run on" in done.stderr
        and "--wait-for-quiet" in done.stderr
    )
    record = load(tmp_path / "run")
    moment = record.plan.about.moment
    assert moment.others > 0.5 and moment.asked_s == 1.5
    assert 0.5 < moment.waited_s < 60
    from deep500.reports.markdown import markdown

    assert "s of 1.5 s allowed for a quiet machine, then others used" in markdown(
        record.report()
    )
