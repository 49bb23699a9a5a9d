"""pytest-benchmark's fixture, measured by us."""

import json
import re
import shutil
import statistics
from pathlib import Path

import numpy as np
import pytest

from deep500.measure.bench_blocks import TimedBlock
from deep500.measure.bench_plan import check_plan
from deep500.measure.plan import make_plan
from deep500.measure.results import Result
from deep500.pytest_plugin.sample_statistics import FIELDS, SampleStatistics

EXAMPLES = Path(__file__).with_name("documented_examples.py")


def test_the_documented_examples_run_unchanged(tmp_path, run_pytest):
    shutil.copy(EXAMPLES, tmp_path / "test_examples.py")
    done = run_pytest("--d5-budget=0.1", "--d5-save=examples", "--d5-processes=1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "12 passed" in done.stdout
    assert re.search(r"test_marker`? +\| +group-name", done.stdout), done.stdout
    [bundle] = (tmp_path / ".d5" / "examples").iterdir()
    derived = json.loads((bundle / "derived.json").read_text())
    by_name = {each["name"]: each for each in derived["measurements"]}
    assert by_name["test_examples.py::test_extra_info"]["info"] == {"foo": "bar"}
    pedantic = by_name["test_examples.py::test_pedantic"]["numbers"]["entries"][0]
    assert pedantic["batch"] == 10 and pedantic["n"] <= 100
    slept = by_name["test_examples.py::test_arguments"]["numbers"]["entries"][0]
    assert slept["median"] > 0.02


def test_nothing_is_timed_if_it_is_switched_off(suite, run_pytest):
    suite(
        "calls = []\n"
        "def test_a(benchmark):\n"
        "    assert benchmark(lambda: calls.append(1) or 7) == 7\n"
        "    assert calls == [1] and benchmark.stats is None and benchmark.disabled\n"
        "def test_b(benchmark):\n"
        "    assert benchmark.pedantic(len, args=([1],), rounds=9) == 1\n"
    )
    done = run_pytest("--benchmark-disable")
    assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout
    assert "deep500" not in done.stdout.partition("passed")[0].partition("==")[0]


@pytest.mark.parametrize(
    ("option", "passed"), [("--benchmark-skip", 1), ("--benchmark-only", 2)]
)
def test_tests_that_measure_are_chosen(option, passed, suite, run_pytest):
    suite(
        "def test_a(benchmark): benchmark(len, [])\n"
        "def test_b(d5): pass\n"
        "def test_c(): pass\n"
    )
    done = run_pytest(option, "--d5-once")
    assert f"{passed} passed, {3 - passed} deselected" in done.stdout, done.stdout


def test_it_steps_aside_for_pytest_benchmark(tmp_path, suite, run_pytest):
    """A package of that name, whose fixture and options must be the ones that are used."""
    package = tmp_path / "other" / "pytest_benchmark"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "plugin.py").write_text(
        "import pytest\n"
        "def pytest_addoption(parser):\n"
        "    parser.addoption('--benchmark-disable', action='store_true')\n"
        "@pytest.fixture\n"
        "def benchmark():\n"
        "    return 'theirs'\n"
    )
    suite("def test_a(benchmark): assert benchmark == 'theirs'\n")
    path = {"PYTHONPATH": f"{tmp_path / 'other'}:{Path(__file__).parents[2]}"}
    done = run_pytest("-p", "pytest_benchmark.plugin", "--benchmark-disable", **path)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout


WRONG = {
    "benchmark(len, []); benchmark(len, [])": "times one function per test",
    "benchmark.weave(len)": "needs pytest-benchmark and aspectlib",
    "benchmark.pedantic(len, args=([],), rounds=0)": "rounds=0",
    "benchmark.pedantic(len, setup=print, iterations=2)": "iterations=2 with a setup",
    "benchmark.pedantic(len, args=([],), setup=lambda: (([],), {}))": (
        "the setup returns them, too"
    ),
}


def test_wrong_use_is_said(suite, run_pytest):
    lines = [f"def test_{i}(benchmark): {line}" for i, line in enumerate(WRONG)]
    suite("\n".join(lines) + "\n")
    done = run_pytest("--d5-budget=0.05")
    assert done.returncode == 1 and f"{len(WRONG)} failed" in done.stdout, done.stdout
    for message in WRONG.values():
        assert message in done.stdout


def test_an_unknown_setting_of_the_marker_is_an_error(suite, run_pytest):
    suite(
        "import pytest\n"
        "@pytest.mark.benchmark(max_tim=1)\n"
        "def test_a(benchmark): benchmark(len, [])\n"
    )
    done = run_pytest()
    assert done.returncode == 1 and "no setting 'max_tim'" in done.stdout, done.stdout


def test_statistics_are_those_of_the_standard_library():
    rng = np.random.default_rng(7)
    times = rng.integers(1000, 9000, 41).tolist()
    document = make_plan({"f": len}).to_json()
    block = TimedBlock(process=0, calls=[2], orders=[[0]] * 41, ns=[[t] for t in times])
    stats = SampleStatistics(Result(check_plan(document), [block]))
    data = stats.data
    scale = [t / 2e9 for t in times][-len(data) :]
    assert data == pytest.approx(scale)
    assert stats.mean == pytest.approx(statistics.fmean(data))
    assert stats.stddev == pytest.approx(statistics.stdev(data))
    assert stats.median == pytest.approx(statistics.median(data))
    lower, _, upper = statistics.quantiles(data, n=4, method="inclusive")
    assert (stats.q1, stats.q3) == pytest.approx((lower, upper))
    assert stats.total == pytest.approx(sum(data)) and stats.iterations == 2
    assert stats.interval.low <= stats.median <= stats.interval.high
    assert all(stats[name] == getattr(stats, name) for name in FIELDS)
