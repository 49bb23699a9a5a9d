"""Others on the same machine: seen while they are there, recorded with the blocks, and part of the verdict."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from deep500.measure.bench_blocks import check_blocks
from deep500.measure.bench_plan import check_plan
from deep500.measure.interference import COULD_EXPLAIN, interference
from deep500.measure.plan import make_plan
from deep500.measure.results import Result
from deep500.measure.sensing.others import Others, allowed_cpus, others_now
from deep500.results.benching.measurement_comparison import contrast

from .busy import busy_machine, d5


def spinning(seconds: float, in_child: bool) -> None:
    code = f"import time\nend = time.monotonic() + {seconds}\nwhile time.monotonic() < end: pass"
    if in_child:
        subprocess.run([sys.executable, "-S", "-c", code], check=True)
    else:
        exec(code)


def recorded(
    others: float, used: list[float], ratio: float = 2.0, threads: object = None
) -> Result:
    """A run of two entries in six processes, whose blocks say what others used of two CPUs."""
    rng = np.random.default_rng(1)
    plan = make_plan({"a": "pass", "b": "pass"}, processes=6, seed=1)
    plan = replace(plan, about={"threads": threads} if threads else {})
    blocks = []
    for process in range(6):
        noise = np.exp(rng.normal(0, 0.005, (40, 4)))
        times = np.rint(1e6 * noise * [1, ratio, ratio, 1]).astype(int)
        load = {"others": others, "cpus": 2, "used": used}
        orders = [[0, 1, 1, 0]] * 40
        blocks.append(
            {
                "process": process,
                "calls": [1, 1],
                "orders": orders,
                "ns": times.tolist(),
                "load": load,
            }
        )
    written = check_plan(plan.to_json())
    return Result(written, check_blocks(written, blocks))


def withdrawn(result: Result) -> list[str]:
    [(_, _, c)] = result.comparisons
    return [note for note in c.notes if COULD_EXPLAIN in note]


def test_what_blocks_record_is_summarised_with_n_and_interval():
    found = recorded(0.89, [1.0, 1.0]).interference
    assert (found.others, found.n, found.cpus) == (0.89, 6, 2)
    assert found.low <= found.others <= found.high


def test_blocks_without_it_give_none_and_no_number():
    result = recorded(0.89, [1.0, 1.0])
    result.blocks = [replace(block, load=None) for block in result.blocks]
    assert interference(result.blocks) is None
    assert result.derived.comparisons[0].verdict == "slower"
    assert result.derived.interference is None


@pytest.mark.parametrize(
    ("others", "used", "threads", "verdict"),
    [
        (0.0, [1.0, 2.0], None, "slower"),
        (
            0.89,
            [1.0, 1.9],
            None,
            "inconclusive",
        ),  # two threads that wait for each other
        (0.89, [1.0, 1.0], 2, "inconclusive"),  # told to use two
        (
            0.5,
            [1.0, 1.0],
            2,
            "inconclusive",
        ),  # two threads that got half a CPU each look like one
        (
            0.2,
            [1.0, 1.0],
            2,
            "slower",
        ),  # half a CPU stayed idle: one thread was all it wanted
        (
            0.2,
            [1.0, 1.6],
            2,
            "inconclusive",
        ),  # the second thread lacked a CPU now and then
        (0.05, [1.0, 1.9], None, "slower"),  # a tenth of a CPU is not missed
        (
            0.45,
            [1.0, 1.0],
            None,
            "slower",
        ),  # one thread beside one other: both have a CPU
        (
            0.89,
            [1.0, 1.0],
            None,
            "slower",
        ),  # no CPU free, but the usual visit was not held up
        (
            0.89,
            [1.0, 0.4],
            None,
            "inconclusive",
        ),  # the usual visit of b waited for most of its time
        (0.89, [0.4, 1.0], None, "slower"),  # if a was held up, then b is slower still
    ],
)
def test_a_verdict_that_others_could_explain_is_inconclusive(
    others, used, threads, verdict
):
    result = recorded(others, used, threads=threads)
    assert result.derived.comparisons[0].verdict == verdict
    assert bool(withdrawn(result)) == (verdict == "inconclusive")


def test_the_reason_says_who_how_much_and_what_to_do():
    told = withdrawn(recorded(0.89, [1.0, 2.0], threads=2))[0]
    assert "others used 89 % of the 2 CPUs" in told and "ran 2 threads" in told
    assert "'b' ran" in told
    assert "use --threads 1, wait, or give --wait-for-quiet SECONDS" in told
    derived = recorded(0.89, [1.0, 2.0]).derived
    assert "--wait-for-quiet" in derived.status and derived.stopped == "budget"


def test_same_is_withdrawn_as_well():
    assert recorded(0.0, [2.0, 2.0], ratio=1.0).derived.comparisons[0].verdict == "same"
    assert (
        recorded(0.9, [2.0, 2.0], ratio=1.0).derived.comparisons[0].verdict
        == "inconclusive"
    )


@pytest.mark.parametrize("in_child", [False, True])
def test_our_own_time_is_not_the_others(in_child):
    watch = Others()
    before = others_now(0.3)
    watch.start()
    spinning(0.6, in_child)
    during = watch.share()
    after = others_now(0.3)
    one_cpu = 1 / len(allowed_cpus())
    # Others' tests may run meanwhile: what is asked is that our own CPU does not come on top.
    assert during <= max(before, after) + 0.6 * one_cpu or during <= 1 - 0.3 * one_cpu


@pytest.mark.slow
def test_a_run_beside_others_records_them_and_says_so(tmp_path):
    options = ["--budget", "1.5", "--processes", "3", "--out", str(tmp_path / "run")]
    with busy_machine(len(allowed_cpus())):
        said = d5("bench", "sum(range(3000))", *options).stdout
    assert ", on a machine that others used to " in said.splitlines()[0]
    result = Result.load(tmp_path / "run")
    assert result.interference.others > 0.2 and result.interference.n >= 3
    used = [b.load.used[0] for b in result.blocks if b.load and b.load.used]
    assert all(0 < u < 1.5 for u in used)


def test_two_runs_are_compared_with_what_others_did_to_either():
    quiet, slow = recorded(0.0, [1.0, 2.0]), recorded(0.0, [1.0, 2.0], ratio=3.0)
    busy = recorded(0.9, [1.0, 2.0], ratio=3.0)
    verdicts = [
        c["verdict"] for c in contrast(quiet, slow, 0.02, 0.95).data["comparisons"]
    ]
    assert verdicts == ["same", "slower"]
    found = contrast(quiet, busy, 0.02, 0.95).data["comparisons"]
    assert [c["verdict"] for c in found] == ["same", "inconclusive"]
    backwards = contrast(busy, quiet, 0.02, 0.95).data["comparisons"]
    assert backwards[1]["verdict"] == "inconclusive"
    assert any("'b (B)' ran 2 threads" in note for note in found[1]["notes"])
