"""Verdicts that would mean something else are not given: synthetic blocks, whose truth is known."""

import itertools
import math

import numpy as np
import pytest

from deep500 import cli
from deep500.errors import Deep500Error
from deep500.measure.bench_blocks import check_blocks
from deep500.measure.bench_plan import check_plan
from deep500.measure.plan import make_plan
from deep500.measure.results import Result
from deep500.results.benching.measurement_comparison import contrast
from deep500.schema import encoded

PROCESSES, ROUNDS = 6, 60
UNIT_NS = 20_000


def one(rng):
    return rng.lognormal(0, 0.01)


def two_costs(rng):
    return (1.0 if rng.random() < 0.6 else 5.0) * rng.lognormal(0, 0.01)


def result(a=one, b=one, factor=1.0, alone=(1.0, 1.0), **block_fields):
    """Six processes; `alone` is what a visit in a row of its own costs relative to one beside the other."""
    rng = np.random.default_rng(3)
    plan = make_plan({"a": "pass", "b": "pass"}, seed=1)
    document = plan.to_json()
    blocks = []
    draws = [lambda: a(rng), lambda: factor * b(rng)]
    for process in range(PROCESSES):
        orders = list(itertools.islice(plan.orders(process), ROUNDS))
        ns = [[round(UNIT_NS * draws[i]()) for i in order] for order in orders]
        rows = []
        for i in (0, 1):
            rows.append([round(UNIT_NS * alone[i] * draws[i]()) for _ in range(60)])
        blocks.append(
            {
                "process": process,
                "calls": [1, 1],
                "untimed": [1, 1],
                "after": [0.0, 0.0],
                "orders": orders,
                "layout": plan.layout(process).to_json(),
                "ns": ns,
                "alone": rows,
            }
            | block_fields
        )
    written = check_plan(document)
    return Result(written, check_blocks(written, blocks))


def verdict(found):
    [comparison] = found.derived.comparisons
    return comparison.verdict


def notes(found):
    [comparison] = found.derived.comparisons
    return " ".join(comparison.notes)


def test_calls_of_one_cost_keep_their_verdict():
    assert verdict(result(factor=1.1)) == "slower"
    assert verdict(result()) == "same"


def test_calls_of_two_costs_have_no_verdict_and_the_modes_are_named():
    found = result(a=lambda rng: 2 * one(rng), b=two_costs)
    [comparison] = found.derived.comparisons
    assert comparison.verdict == "inconclusive" and comparison.meaning.withheld
    assert (
        comparison.meaning.estimand == "median ratio of paired rounds of single calls"
    )
    assert comparison.meaning.of_medians.ratio == pytest.approx(0.5, rel=0.02)
    assert comparison.meaning.of_means.ratio == pytest.approx(1.3, rel=0.1)
    assert "different sides of the margin" in notes(found)
    assert "'b' has 2 modes, 20." in notes(found) and "and 100.0 µs" in notes(found)


def test_the_report_says_no_verdict_first_and_why(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    found = result(a=lambda rng: 2 * one(rng), b=two_costs)
    found.save(tmp_path / "bundle")
    assert cli.main(["verify", str(tmp_path / "bundle")]) == 0
    capsys.readouterr()
    assert cli.main(["show", str(tmp_path / "bundle")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith("**No verdict on `b` against `a`: median ratio of paired")
    assert "ratio of medians 0.5" in shown and ", of means 1.3" in shown
    assert "on different sides of the margin; 'b' has 2 modes" in shown


def test_work_after_the_clock_withholds_every_verdict():
    found = result(factor=0.5, after=[0.0, 40.0])
    assert verdict(found) == "inconclusive"
    assert "'b' goes on after its clock has stopped" in notes(found)
    assert verdict(result(factor=0.5, after=[None, 0.1])) == "faster"


def test_a_verdict_that_neighbours_make_is_withheld_and_their_effect_is_noted():
    # beside the other, b takes 1.2 times what it takes alone
    found = result(factor=1.2, alone=(1.0, 1 / 1.2))
    assert verdict(found) == "inconclusive"
    assert "the ratio would be 1" in notes(found)
    b = found.derived.entries[1]
    assert b.neighbours.ratio == pytest.approx(1.2, rel=0.01)
    assert any("in a row of its own calls" in note for note in b.notes)


def test_an_effect_of_neighbours_that_changes_nothing_is_only_noted():
    found = result(factor=2.0, alone=(1.0, 1 / 1.05))
    assert verdict(found) == "slower"
    b = found.derived.entries[1]
    assert any("in a row of its own calls" in note for note in b.notes)
    a = found.derived.entries[0]
    assert not any("in a row" in note for note in a.notes)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("untimed", [1]), ("untimed", [1, -1]), ("untimed", "x"), ("after", [1]), ("after", ["x", 1]),
        ("after", [-1.0, 0.0]), ("alone", [[1, 2]]), ("alone", [[1, 2], [3]]), ("alone", [[1, 2], [0, 3]]),
        ("alone", 5),
    ],
)  # fmt: skip
def test_blocks_from_anyone_are_checked(key, value):
    found = result()
    blocks = encoded(found.blocks)
    blocks[0][key] = value
    with pytest.raises(Deep500Error, match="block 0: "):
        check_blocks(found.plan, blocks)


def test_two_batches_are_named():
    found = result(calls=[1, 8])
    [comparison] = found.derived.comparisons
    expected = "median ratio of paired rounds of means of 8 calls to single calls"
    assert comparison.meaning.estimand == expected


def of_levels(levels, factor=1.0):
    """A benchmark of one candidate, each of whose processes has its own level."""
    plan = make_plan({"a": "pass"}, seed=1)
    rng = np.random.default_rng(7)
    blocks = []
    for process, level in enumerate(levels):
        costs = UNIT_NS * factor * level * rng.lognormal(0, 0.001, ROUNDS)
        block = {"process": process, "calls": [1], "orders": [[0]] * ROUNDS}
        blocks.append(block | {"ns": [[round(cost)] for cost in costs]})
    written = check_plan(plan.to_json())
    return Result(written, check_blocks(written, blocks))


def test_two_benchmarks_whose_processes_depend_are_compared_with_care():
    rng = np.random.default_rng(11)
    steps = rng.normal(0, 0.02, 20)
    walk = np.exp(np.cumsum(steps))  # each process begins where the one before ended
    ordered = np.sort(walk)
    # the same levels, in an order in which no process is like the one before
    independent = np.ravel(np.column_stack([ordered[:10], ordered[10:]]))
    [careful], [plain] = (
        contrast(of_levels(levels), of_levels(levels, 1.04), 0.01, 0.95).data[
            "comparisons"
        ]
        for levels in (walk, independent)
    )
    assert any("successive processes depend" in note for note in careful["notes"])
    assert not any("successive processes depend" in note for note in plain["notes"])
    width = math.log(careful["high"] / careful["low"])
    assert width > 2 * math.log(plain["high"] / plain["low"])
