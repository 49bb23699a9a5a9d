"""A benchmark that is added as the page says: one file, run from the command line and from Python."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from deep500.bench.benchmark import Benchmark, Subject
from deep500.errors import Incomplete

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "add-a-benchmark.md").read_text()
[CODE] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
QUICK = ["--length", "50", "100", "--budget", "0.3", "--processes", "3", "--json"]
QUICK += ["--timeout", "120"]  # for a busy machine
SCRIPT = """
import deep500 as d5
from sort_benchmark import SortBenchmark

benchmark = SortBenchmark(length=[50], algorithm="stable")
record = d5.run_benchmark(benchmark, budget_s=0.3, processes=3)
print(record.derived.entries[0].name)
"""


@pytest.fixture
def python(tmp_path):
    """Python with a package installed that brings the benchmark of the page, after a change of its code."""

    def call(words, old="", new=""):
        assert old in CODE
        (tmp_path / "sort_benchmark.py").write_text(CODE.replace(old, new))
        installed = tmp_path / "sorting-0.dist-info"
        installed.mkdir(exist_ok=True)
        (installed / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: sorting\nVersion: 0\n"
        )
        points = "[deep500.bench]\nSortBenchmark = sort_benchmark:SortBenchmark\n"
        (installed / "entry_points.txt").write_text(points)
        paths = os.pathsep.join([str(tmp_path), str(ROOT)])
        home = str(tmp_path / "home")
        return subprocess.run(
            [sys.executable, *map(str, words)],
            capture_output=True,
            text=True,
            timeout=300,
            env=os.environ | {"PYTHONPATH": paths, "DEEP500_HOME": home},
            cwd=tmp_path,
        )

    return call


D5 = ["-m", "deep500.cli"]
BENCH = [*D5, "bench", "sort", *QUICK]


def test_the_benchmark_of_the_page_is_a_verb(python, tmp_path):
    done = python([*BENCH, "--out", tmp_path / "out"])
    assert done.returncode == 0, done.stderr
    entries = json.loads(done.stdout)["entries"]
    assert [entry["name"] for entry in entries] == [
        "quicksort length=50",
        "stable length=50",
        "quicksort length=100",
        "stable length=100",
    ]
    assert [len(entry["verdicts"]) for entry in entries] == [0, 1, 0, 1]
    plan = json.loads((tmp_path / "out" / "plan.json").read_text())
    assert plan["factors"] == {"length": [50, 100]}
    assert plan["entries"][0]["work"]["bytes"] == 800
    assert plan["entries"][0]["work"]["swaps"] > 10
    assert plan["entries"][0]["job"]["settings"] == {
        "length": 50,
        "algorithm": "quicksort",
    }
    assert python([*D5, "verify", tmp_path / "out"]).returncode == 0
    page = tmp_path / "page.html"
    assert python([*D5, "report", tmp_path / "out", "--out", page]).returncode == 0
    text = page.read_text()
    assert "SortJob(length=50, algorithm=" in text
    assert ">swaps<" in text and ">GB/s<" in text
    assert ">problem<" not in text and ">GFLOP/s<" not in text


def test_the_benchmark_of_the_page_runs_from_python(python, tmp_path):
    done = python(["-c", SCRIPT])
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "stable length=50"


def test_its_options_are_its_factors(python):
    help_text = python([*D5, "bench", "sort", "--help"]).stdout
    assert "the lengths of the arrays (1000)" in help_text
    assert "how it sorts (quicksort stable)" in help_text
    assert "--wait-for-quiet" in help_text
    listed = python([*D5, "list", "benchmarks"]).stdout
    assert "how fast NumPy sorts, by algorithm" in listed
    assert "Operators under the clock" in listed


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--length", "long"], "invalid int value: 'long'"),
        (["--lenth", "5"], "Did you mean '--length'"),
        (["--budget", "-1"], "budget_s = -1.0 makes no sense"),
        (["--algorithm", "bogosort"], "cannot run Sort"),
    ],
)
def test_bad_input_is_one_line(python, words, text):
    done = python([*D5, "bench", "sort", *words])
    assert done.returncode == 2, done.stderr
    assert text in done.stderr
    assert "Traceback" not in done.stderr


RUN = "        self.run = np.sort"
STABLE = "self.run = (lambda x, *how: {wrong} if how[-1] == 'stable' else np.sort(x))"


@pytest.mark.parametrize(
    ("wrong", "code", "about"),
    [("x", 1, "wrong"), ("__import__('os').abort()", 0, "left_out")],
)
def test_a_job_that_is_wrong_or_dies_leaves_the_others(
    python, tmp_path, wrong, code, about
):
    planted = "        " + STABLE.format(wrong=wrong)
    done = python([*BENCH, "--out", tmp_path / "out"], RUN, planted)
    assert done.returncode == code, done.stderr
    names = [entry["name"] for entry in json.loads(done.stdout)["entries"]]
    assert names == ["quicksort length=50", "quicksort length=100"]
    plan = json.loads((tmp_path / "out" / "plan.json").read_text())
    assert set(plan["about"][about]) == {"stable length=50", "stable length=100"}
    shown = python([*D5, "show", tmp_path / "out"]).stdout
    assert {"wrong": "WRONG", "left_out": "left out"}[about] in shown


def test_what_a_subject_lacks_is_named():
    with pytest.raises(Incomplete, match="Subject has no method 'check'"):
        Subject().check()
    with pytest.raises(Incomplete, match="Benchmark has no method 'jobs'"):
        Benchmark().jobs()


def test_what_is_wrong_after_the_timing_has_no_result(python):
    """It counts its calls, and forgets to sort after a while."""
    planted = """
        self.calls = 0
        def run(x, *how):
            self.calls += 1
            return np.sort(x) if self.calls < 3 else x
        self.run = run"""
    done = python(BENCH, RUN, planted)
    assert done.returncode == 1
    assert "is not sorted" in done.stderr
