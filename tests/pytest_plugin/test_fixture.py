"""The fixture d5: benchmarks, comparisons and checks that fail by verdict."""

import re

import pytest

SLOW = "def fast(): return sum(range(100))\ndef slow(): return sum(range(300))\n"


def test_a_measurement_is_a_result(suite, run_pytest):
    suite(
        "def test_a(d5):\n"
        "    result = d5.bench(sorted, [3, 1, 2])\n"
        "    interval = result.interval('sorted')\n"
        "    assert 0 < interval.low <= interval.estimate <= interval.high\n"
        "    d5.bench(sorted, [1], name='short')\n"
        "    d5.bench(lambda: 1)\n"
    )
    done = run_pytest("--d5-budget=0.1")
    assert done.returncode == 0, done.stdout
    for name in ("test_a`", "test_a short`", r"test_a \(2\)`"):
        assert re.search(rf"\| `test_speed.py::{name} +\| [\d.]+ [nµm]s", done.stdout)


def test_slower_fails_and_faster_does_not(suite, run_pytest):
    suite(
        SLOW + "def test_slower(d5): d5.compare(fast, slow)\n"
        "def test_faster(d5): assert d5.compare(slow, fast).verdict == 'faster'\n"
        "def test_margin(d5): assert d5.compare(fast, slow, margin=9).verdict == 'same'\n"
    )
    done = run_pytest("--d5-budget=1")
    assert done.returncode == 1
    assert re.search(r"slow is slower than fast: it takes [\d.]+ × \[", done.stdout)
    assert "1 failed, 2 passed" in done.stdout, done.stdout


@pytest.mark.parametrize(("action", "code"), [("say", 0), ("fail", 1)])
def test_inconclusive_is_said_or_fails(action, code, suite, run_pytest):
    """One call of two functions of different length each cannot decide anything."""
    suite(
        "import time\n"
        "def nap(): time.sleep(0.01)\n"
        "def test_a(d5): d5.compare(nap, nap, margin=0, budget=0.05)\n"
    )
    done = run_pytest(f"--d5-inconclusive={action}")
    assert done.returncode == code, done.stdout
    assert "inconclusive whether nap (other) is slower than nap (base)" in done.stdout


def test_an_operator_is_checked(suite, run_pytest):
    suite(
        "import numpy as np\n"
        "def wrong(x): return np.maximum(x, 0) * 1.001\n"
        "def relu(x): return np.maximum(x, 0)\n"
        "def test_right(d5): d5.check('Relu', framework='reference')\n"
        "def test_wrong(d5):\n"
        "    d5.check(wrong, 'reference', [(4, 5)], reference=relu)\n"
        "def test_unknown(d5): d5.check('Reluu')\n"
    )
    done = run_pytest()
    assert "2 failed, 1 passed" in done.stdout, done.stdout
    assert "forward" in done.stdout and "bound" in done.stdout
    assert "Did you mean 'Relu'?" in done.stdout
    assert "another exception occurred" not in done.stdout


def test_an_error_of_the_function_is_its_own(suite, run_pytest):
    suite(
        "def test_a(d5): d5.bench(int, 'x')\n"
        "def test_b(benchmark): benchmark(int, 'x')\n"
    )
    done = run_pytest()
    assert done.returncode == 1
    assert done.stdout.count("E   ValueError: invalid literal") == 2, done.stdout
    assert "deep500/pytest_plugin" not in done.stdout


def test_nothing_is_timed_once(suite, run_pytest):
    suite("def test_a(d5): d5.bench(len, [])\ndef test_b(d5): d5.compare(len, len, [])")
    done = run_pytest("--d5-once", "-rs")
    assert done.returncode == 0 and "2 skipped" in done.stdout, done.stdout
    assert "called once and not timed" in done.stdout
