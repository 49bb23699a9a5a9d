"""Two runs of recipes side by side: honest for few seeds, and clear about what differs."""

import copy
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from deep500 import bundle, cli
from deep500.bundle.records.bundle_comparison import environment_blocks
from deep500.contracts.metric_summary import MetricSummary
from deep500.errors import Deep500Error
from deep500.measure.load import Load
from deep500.measure.machine import Environment, environment_difference
from deep500.reports.terminal import blocks_text
from deep500.results.outcomes.data import NO_NUMBERS, RecipeRecord
from deep500.results.outcomes.metric_contrast import compare_metric
from deep500.results.recipe import Recipe
from deep500.schema import encoded
from deep500.training.recipe_blocks import Epoch, Look, SeedEnd
from tests.training.recipe_documents import checked_plan, plan_document, summary

BEFORE = Path(__file__).parents[1] / "data" / "before" / "recipe-0.1.0.zip"
CLASSES = json.loads(json.dumps(bundle.read(BEFORE).documents["environment.json"]))


def metric(
    name: str,
    values: list,
    kind: str = "quality",
    better: str | None = "higher",
    unit: str = "%",
    **more: object,
) -> MetricSummary:
    unit = "s" if kind == "cost" else unit
    return summary(values, name=name, kind=kind, better=better, unit=unit, **more)


def run(
    *metrics: MetricSummary, seeds: range | None = None, **changes: object
) -> RecipeRecord:
    """A run of a recipe with these metrics; `changes` go into MUTABLE, or into FIXED if they begin with fixed_."""
    fixed: dict[str, object] = {"dataset": "digits", "epochs": 20}
    mutable: dict[str, object] = {"batch_size": 64}
    for key, value in changes.items():
        part = fixed if key.startswith("fixed_") else mutable
        part[key.removeprefix("fixed_")] = value
    count = list(range(len(metrics[0].values)) if seeds is None else seeds)
    recipe = {"name": "r", "fixed": fixed, "mutable": mutable}
    plan = plan_document(recipe, epochs=20, tier="small", seeds=count, threads=1)
    numbers = replace(NO_NUMBERS, seeds=count, metrics=metrics)
    environment = copy.deepcopy(CLASSES)
    return RecipeRecord(Recipe(), checked_plan(plan), [], numbers, environment)


def compared(a: RecipeRecord, b: RecipeRecord, margin: float = 0.02):
    contrast = Recipe().compare(a, b, margin, 0.95)
    contrast = replace(contrast, data=encoded(contrast.data))
    assert contrast.answer is not None
    return contrast, blocks_text([contrast.answer, *contrast.blocks], drawn=False)


ACCURACY = [97.0, 97.2, 96.9, 97.1, 97.3, 97.0]


@pytest.mark.parametrize(
    ("shift", "better", "verdict"),
    [
        (-5.0, "higher", "worse"),
        (2.9, "lower", "worse"),
        (2.9, "higher", "better"),
        (0.1, "higher", "same"),
        (2.9, None, "different"),
    ],
)
def test_each_verdict(shift, better, verdict):
    other = [value + shift for value in ACCURACY]
    a, b = (run(metric("TestAccuracy", v, better=better)) for v in (ACCURACY, other))
    contrast, text = compared(a, b)
    [answer] = contrast.data["comparisons"]
    assert (
        answer["verdict"] == verdict
        and answer["paired"]
        and answer["effect"] == "difference"
    )
    assert answer["low"] <= answer["value"] <= answer["high"]
    assert answer["value"] == pytest.approx(shift, abs=0.2)
    assert verdict in text and "paired seed by seed" in text
    assert list(contrast.worse) == (["test accuracy"] if verdict == "worse" else [])


def test_times_are_compared_as_ratios_and_noise_is_inconclusive():
    a = run(metric("Time", [1.0, 1.1, 0.9, 1.0], "cost", "lower"))
    b = run(metric("Time", [2.02, 2.2, 1.79, 2.0], "cost", "lower"))
    contrast, text = compared(a, b)
    [answer] = contrast.data["comparisons"]
    assert answer["effect"] == "ratio" and answer["value"] == pytest.approx(
        2.0, rel=0.01
    )
    [row] = contrast.blocks[0].rows
    assert answer["verdict"] == "worse" and re.search(
        r"2\.00\d × \[1\.9\d+, 2\.0\d+\], n = 4", row[3]
    )
    assert (
        "B has 2.010 s where A has 1.000 s in time (medians over the seeds): " in text
    )
    assert "the median ratio of pairs, B / A seed by seed, is 2.00" in text
    noisy = run(metric("Time", [0.5, 2.2, 1.1, 0.7], "cost", "lower"))
    assert compared(a, noisy)[0].data["comparisons"][0]["verdict"] == "inconclusive"


def test_other_seeds_are_not_paired():
    a = run(metric("TestAccuracy", ACCURACY))
    b = run(metric("TestAccuracy", ACCURACY), seeds=range(6, 12))
    contrast, text = compared(a, b)
    assert not contrast.data["comparisons"][0]["paired"] and "not paired" in text


@pytest.mark.parametrize(
    ("values", "says", "note"),
    [
        ([97.0, 96.0], "refused", "at least 3 are needed"),
        ([97.0, None, 96.0, 97.0], "3/4 against 3/4", "ranks do not decide"),
    ],
)
def test_too_few_seeds_give_no_verdict(values, says, note):
    a = run(metric("TestAccuracy", values))
    contrast, text = compared(a, run(metric("TestAccuracy", values)))
    [answer] = contrast.data["comparisons"]
    assert answer["verdict"] == "inconclusive" and answer["low"] is None
    assert says in text and note in text


@pytest.mark.parametrize("kind", ["cost", "quality"])
@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("n", [3, 5, 6])
def test_few_seeds_seldom_find_a_difference_where_there_is_none(kind, paired, n):
    """At 95 % about one in twenty runs may; seeds that share their luck are paired."""
    random, wrong = np.random.default_rng(n), 0
    for _ in range(400):
        luck = random.normal(0, 0.05, n)
        a = np.exp(luck + random.normal(0, 0.05, n)).tolist()
        luck = luck if paired else random.normal(0, 0.05, n)
        b = np.exp(luck + random.normal(0, 0.05, n)).tolist()
        seeds = [*range(n)], [*range(n)] if paired else [*range(n, 2 * n)]
        answer = compare_metric(
            metric("M", a, kind), metric("M", b, kind), *seeds, 0.0, 0.95
        )
        wrong += answer.verdict in ("better", "worse")
    assert wrong / 400 < 0.09


def test_what_differs_in_the_recipe_is_said():
    accuracy = metric("TestAccuracy", ACCURACY)
    contrast, text = compared(run(accuracy), run(accuracy))
    assert "FIXED and MUTABLE are the same" in text and contrast.data["fixed_equal"]
    contrast, text = compared(run(accuracy), run(accuracy, batch_size=32))
    assert "FIXED is the same in both" in text
    assert contrast.data["differences"]["mutable"] == [["batch_size", 64, 32]]
    contrast, text = compared(run(accuracy), run(accuracy, fixed_model="cnn"))
    assert "FIXED differs: A and B are runs of two different recipes" in text
    assert not contrast.data["fixed_equal"] and "| model" in text


def seed_end(seed: int, weights: str) -> SeedEnd:
    return SeedEnd(seed=seed, test={"a": 1.0}, build_seconds=0.1, weights=weights)


def test_the_same_bits_are_said_before_the_metrics():
    blocks = [seed_end(seed, f"digest {seed}") for seed in range(2)]
    short, long = (
        run(metric("TestAccuracy", [97.0])),
        run(metric("TestAccuracy", [97.0] * 2)),
    )
    a, b = replace(short, blocks=blocks[:1]), replace(long, blocks=blocks)
    _, text = compared(a, b)
    said = "The weights of A and B are the same bits (1 seed)."
    assert 0 < text.index(said) < text.index("median over seeds")
    other = replace(long, blocks=[blocks[0], seed_end(1, "other")])
    assert "same bits" not in compared(b, other)[1]
    assert "same bits" not in compared(short, long)[1]


def test_another_machine_is_a_warning_for_times_only():
    times, accuracy = (
        metric("Time", [1.0, 1.1, 0.9], "cost"),
        metric("TestAccuracy", ACCURACY[:3]),
    )
    here, there = run(times, accuracy), run(times, accuracy)
    assert "different machines" not in compared(here, there)[1]
    there.environment["classes"]["hardware compute"]["cpu model"]["value"] = "another"
    _, text = compared(here, there)
    assert "ran on different machines (cpu model): time compare the machines" in text
    only_accuracy = (
        run(accuracy),
        replace(run(accuracy), environment=there.environment),
    )
    assert "different machines" not in compared(*only_accuracy)[1]


def test_epochs_and_threads_that_differ_are_warned_of():
    a, b = (
        run(metric("Time", [1.0, 1.1, 0.9], "cost")),
        run(metric("Time", [1.0, 1.1, 0.9], "cost")),
    )
    b = replace(b, plan=replace(b.plan, epochs=2, threads=4))
    contrast, text = compared(a, b)
    assert (
        "different numbers of epochs" in text and "different numbers of threads" in text
    )
    assert text.startswith("**A and B cannot be compared")
    [answer] = contrast.data["comparisons"]
    assert answer["verdict"] == "inconclusive"


def test_no_shared_metric_is_one_line():
    with pytest.raises(
        Deep500Error, match="nothing to compare: A has test accuracy; B has time"
    ):
        compared(
            run(metric("TestAccuracy", ACCURACY)), run(metric("Time", ACCURACY, "cost"))
        )


def test_the_gate_closes_on_what_is_worse(tmp_path, monkeypatch, capsys):
    """Two bundles, the second with worse accuracies; the first frameworks' names are shown."""
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    shipped = (Path(__file__).parents[2] / "recipes" / "digits_mlp.py").read_text()
    recipe = tmp_path / "digits_mlp.py"
    # the others are of time: not for a test
    recipe.write_text(f"{shipped}\nMETRICS = METRICS[:1]\n")
    for name, rate in (("good", "(0.1, 0.9)"), ("bad", "(1e-5, 0.0)")):
        how = ["--tier", "tiny", "--framework", "reference", "--seeds", "3"]
        cli.main(
            [
                "run",
                str(recipe),
                *how,
                "--set",
                f"optimizer_args={rate}",
                "--out",
                str(tmp_path / name),
            ]
        )
    capsys.readouterr()
    good, bad = str(tmp_path / "good"), str(tmp_path / "bad")
    assert cli.main(["compare", good, bad, "--gate"]) == 1
    text = capsys.readouterr().out
    assert "optimizer args" in text and "worse" in text and "MUTABLE" in text
    assert cli.main(["compare", bad, good, "--gate"]) == 0
    assert cli.main(["compare", good, bad, "--json"]) == 0
    capsys.readouterr()


def test_a_small_certain_loss_of_accuracy_is_worse_not_the_same():
    """2 % of an accuracy of 98.93 were the margin: a loss of 0.6 points was called the same."""
    before = [99.33, 98.67, 99.33, 99.00, 98.33]
    losses = [0.0, 0.9, 1.0, 0.3, 0.8]
    after = [value - loss for value, loss in zip(before, losses, strict=True)]
    a, b = (run(metric("TestAccuracy", values)) for values in (before, after))
    contrast, text = compared(a, b)
    [answer] = contrast.data["comparisons"]
    assert answer["high"] == pytest.approx(-0.06, abs=0.06)
    assert answer["verdict"] == "worse" and answer["unit"] == "points"
    wide = compared(a, b, margin=0.3)[0].data["comparisons"][0]
    assert wide["verdict"] == "same" and wide["same_within"] == "3 points"
    noise = run(metric("TestAccuracy", [99.0, 98.9, 99.1, 99.2, 98.3]))
    assert compared(a, noise)[0].data["comparisons"][0]["verdict"] == "inconclusive"
    assert "at most 0.2 points (test accuracy)" in text and "-0.8000 points" in text


@pytest.mark.parametrize(
    ("shift", "verdict"), [(-1.5, "same"), (-2.0, "inconclusive"), (-3.0, "better")]
)
def test_shares_of_a_time_are_judged_beyond_their_margin(shift, verdict):
    """A share of a time was held to the margin of an accuracy, 0.2 points, which any drift exceeds."""
    values = [37.0, 38.0, 36.0, 37.5, 38.5]
    noise = [0.1, -0.1, 0.2, 0.0, -0.2]
    after = [value + shift + extra for value, extra in zip(values, noise, strict=True)]
    a, b = (
        run(metric("ExposedCommunication", numbers, "ratio", "lower", "%"))
        for numbers in (values, after)
    )
    [answer] = compared(a, b)[0].data["comparisons"]
    assert (answer["verdict"], answer["same_within"]) == (verdict, "2 points")


def test_accuracy_per_megabyte_has_the_margin_of_bytes():
    """Both followed from 0.25 % more bytes: bytes were the same, and accuracy per megabyte was worse."""
    bytes_a, bytes_b = [327760.0] * 6, [328576.0] * 6
    rate_a = [value / 0.6555 for value in ACCURACY]
    rate_b = [value / 0.6572 for value in ACCURACY]
    sides = []
    for sent, rates in ((bytes_a, rate_a), (bytes_b, rate_b)):
        counted = metric("BytesPerRank", sent, "count", "lower", "B")
        sides.append(
            run(counted, metric("AccuracyPerMegabyte", rates, "ratio", unit="%/MB"))
        )
    answers = compared(sides[0], sides[1])[0].data["comparisons"]
    assert [answer["verdict"] for answer in answers] == ["same", "same"]


def test_the_answer_comes_first_in_one_sentence():
    lower = [value - 5.0 for value in ACCURACY]
    a, b = (run(metric("TestAccuracy", values)) for values in (lower, ACCURACY))
    contrast, text = compared(a, b)
    assert text.startswith(
        "**B reaches 97.05 % where A reaches 92.05 % in test accuracy (medians over the seeds): the median difference "
        "of pairs, B - A seed by seed, is 5.000 points better"
    )
    assert "over 6 seeds" in contrast.data["answer"]


def test_what_was_unavailable_is_not_called_diverged():
    reason = "virtual ranks compute in no time"
    waiting = metric("Waiting", [None] * 3, "ratio", unavailable=reason)
    accuracy = metric("TestAccuracy", ACCURACY[:3])
    _, text = compared(run(accuracy, waiting), run(accuracy, waiting))
    assert f"waiting: unavailable in A and B: {reason}" in text
    assert "diverged" not in text and "refused" not in text


def test_names_of_qualities_are_those_that_a_reader_knows():
    final = metric("FinalQuality", ACCURACY, settings={"name": "R2", "split": "test"})
    _, text = compared(run(final), run(final))
    assert "| test R2" in text and "split" not in text


@pytest.mark.parametrize(("load", "said"), [(0.1, False), (3.5, True)])
def test_another_load_of_the_machine_is_mentioned(load, said, tmp_path):
    environments = []
    for of_run in (0.1, load):
        environment = copy.deepcopy(CLASSES)
        facts = environment["classes"]["benchmark measurement setup"]
        facts["load (1 min)"] = {
            "value": of_run,
            "source": "/proc/loadavg",
            "unavailable": None,
        }
        environments.append(Environment.from_json(environment))
    [block] = environment_blocks(environment_difference(*environments))
    assert ("The load of the machine was 0.1" in block.text) == said
    assert ("nothing that can matter" in block.text) != said


def goal(times: list, looks: list | None = None) -> MetricSummary:
    """A time to accuracy, looked for after every epoch; None: never reached."""
    early = looks or [None if time is None else 0.9 * time for time in times]
    return metric("TimeToAccuracy", times, "cost", "lower", not_before=early)


def test_four_pairs_do_not_decide_that_one_side_never_arrives():
    always, never = run(goal([1.0, 1.1, 1.2, 1.3])), run(goal([None] * 4))
    contrast, text = compared(always, never)
    [answer] = contrast.data["comparisons"]
    assert answer["verdict"] == "inconclusive" and "0/4 against 4/4" in text
    assert len(contrast.lost) == 4  # so that --gate is closed all the same


@pytest.mark.parametrize("n", [5, 6, 10])
@pytest.mark.parametrize("seeds", ["same", "other"])
def test_a_run_that_never_arrives_is_worse_than_one_that_always_does(n, seeds):
    times = [1.0 + 0.1 * i for i in range(n)]
    others = range(n) if seeds == "same" else range(n, 2 * n)
    always, never = run(goal(times)), run(goal([None] * n), seeds=others)
    contrast, text = compared(always, never)
    [answer] = contrast.data["comparisons"]
    assert answer["verdict"] == "worse" and f"0/{n} against {n}/{n}" in text
    assert list(contrast.worse) == ["time to accuracy"] and len(contrast.lost) == n
    assert text.startswith("**B is worse in time to accuracy, ")
    [answer] = compared(never, always)[0].data["comparisons"]
    assert answer["verdict"] == "better"
    [answer] = compared(never, never)[0].data["comparisons"]
    assert answer["verdict"] == "inconclusive"


def test_nine_of_ten_against_none():
    most, none = run(goal([1.0] * 9 + [None])), run(goal([None] * 10))
    contrast, text = compared(most, none)
    assert contrast.data["comparisons"][0]["verdict"] == "worse"
    assert "0/10 against 9/10" in text and "B lost 9 seeds" in text


def test_three_seeds_cannot_decide_by_ranks():
    always, never = run(goal([1.0] * 3)), run(goal([None] * 3))
    [answer] = compared(always, never)[0].data["comparisons"]
    assert answer["verdict"] == "inconclusive"


def test_a_worse_side_that_lost_seeds_is_worse():
    before = [97.0, 97.4, 97.1, 97.3, 97.2]
    after = [95.0, 96.3, 95.4, 95.9, 95.6]
    a = run(metric("TestAccuracy", before), goal([1.0, 1.1, 1.0, 1.2, 1.1]))
    b = run(metric("TestAccuracy", after), goal([2.0, None, 2.1, None, 2.2]))
    contrast, text = compared(a, b)
    verdicts = [answer["verdict"] for answer in contrast.data["comparisons"]]
    assert verdicts == ["worse", "worse"]
    assert "points worse" in text and "B lost 2 seeds that A has" in text
    assert "B lost seed 1: no time to accuracy" in text
    assert contrast.lost and not compared(b, a)[0].lost


# fewer than six pairs are tested as if their seeds were independent, which shared luck makes more careful
@pytest.mark.parametrize(
    ("n", "rho"),
    [(5, 0.0), (5, 0.9), *((n, rho) for n in (6, 8) for rho in (-0.9, 0.0, 0.9))],
)
def test_ranks_seldom_find_a_difference_where_there_is_none(n, rho):
    """30 % never arrive."""
    rng, wrong = np.random.default_rng(n), 0
    for _ in range(400):
        drawn = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], n)
        sides = []
        for column in drawn.T:
            sides.append([None if z > 0.52 else float(np.exp(z)) for z in column])
        a, b = (goal(side, side) for side in sides)
        answer = compare_metric(a, b, [*range(n)], [*range(n)], 0.0, 0.95)
        wrong += answer.verdict in ("better", "worse")
    assert wrong / 400 < 0.05 + 3 * (0.05 * 0.95 / 400) ** 0.5


@pytest.mark.parametrize("more", [1, 4])
@pytest.mark.parametrize("rho", [-0.9, 0.9])
def test_shared_seeds_are_paired_although_one_side_has_more(more, rho):
    """Seeds 0-5 against 0-6: what they share, or have against each other, is taken out by pairing."""
    rng, wrong, found = np.random.default_rng(more), 0, 0
    shared, extra = [*range(6)], [*range(6 + more)]
    for _ in range(300):
        drawn = rng.multivariate_normal([90, 90], [[1, rho], [rho, 1]], 6)
        others = rng.normal(90, 1, more)
        a = metric("M", drawn[:, 0].tolist())
        b = metric("M", [*drawn[:, 1], *others])
        answer = compare_metric(a, b, shared, extra, 0.0, 0.95)
        assert answer.paired and answer.n == 6
        wrong += answer.verdict in ("better", "worse")
        shifted = metric("M", [*(drawn[:, 1] + 1.5), *(others + 1.5)])
        found += (
            compare_metric(a, shifted, shared, extra, 0.0, 0.95).verdict == "better"
        )
    assert wrong / 300 < 0.05 + 3 * (0.05 * 0.95 / 300) ** 0.5
    if rho > 0:
        assert found > 280  # without pairing hardly any


def test_the_same_seeds_do_not_differ_because_one_run_has_more_of_them():
    ten = [97.5, 99.17, 84.17, 95.0, 96.0, 97.0, 98.0, 94.0, 93.0, 97.2]
    a, b = run(metric("TestAccuracy", ten[:3])), run(metric("TestAccuracy", ten))
    contrast, text = compared(a, b)
    [answer] = contrast.data["comparisons"]
    assert (answer["value"], answer["low"], answer["high"]) == (0.0, 0.0, 0.0)
    assert "by the 3 that both have; 7 that one side lacks are left out" in text


def test_few_shared_seeds_do_not_throw_the_others_away():
    values = [97.0 + 0.1 * i for i in range(10)]
    a = run(metric("TestAccuracy", values))
    b = run(metric("TestAccuracy", values), seeds=range(7, 17))
    [answer] = compared(a, b)[0].data["comparisons"]
    assert not answer["paired"] and answer["n"] == 10


@pytest.mark.parametrize("n", [3, 4, 5])
def test_unpaired_medians_are_subtracted_from_medians(n):
    a, b = [80.0, 97.0, 98.0, 97.5, 96.0][:n], [97.0, 99.0, 60.0, 98.0, 98.5][:n]
    first, second = run(metric("M", a)), run(metric("M", b), seeds=range(10, 10 + n))
    [answer] = compared(first, second)[0].data["comparisons"]
    assert answer["value"] == pytest.approx(np.median(b) - np.median(a))
    assert -100 <= answer["low"] <= answer["value"] <= answer["high"] <= 100
    times_a, times_b = (metric("T", values, "cost", "lower") for values in (a, b))
    [answer] = compared(run(times_a), run(times_b, seeds=range(10, 10 + n)))[0].data[
        "comparisons"
    ]
    assert answer["value"] == pytest.approx(np.median(b) / np.median(a))


@pytest.mark.parametrize("n", [3, 5, 6, 10])
@pytest.mark.parametrize("later", [1.0, 1.01])
def test_times_within_one_epoch_are_not_told_apart(n, later):
    """Crossing just before the end of the third epoch, spread 0.3 %: B, 1 % later, is seen one epoch later."""
    rng = np.random.default_rng(n)
    for _ in range(100):
        sides = []
        for factor in (1.0, later):
            true = 2.99 * factor * np.exp(rng.normal(0, 0.003, n))
            looks = np.ceil(true)
            sides.append(goal(looks.tolist(), (looks - 1).tolist()))
        a, b = sides
        answer = compare_metric(a, b, [*range(n)], [*range(n)], 0.02, 0.95)
        assert answer.verdict == "inconclusive"
        assert "after every epoch" in answer.note


def test_times_of_many_epochs_are_told_apart():
    slow, fast = goal([30.0] * 6, [29.0] * 6), goal([20.0] * 6, [19.0] * 6)
    contrast, text = compared(run(slow), run(fast))
    [answer] = contrast.data["comparisons"]
    assert answer["verdict"] == "better" and answer["low"] == pytest.approx(19 / 30)
    assert answer["high"] == pytest.approx(20 / 29)
    assert "a goal is looked for after every epoch only" in text


def test_a_goal_reached_in_the_first_epoch_has_no_ratio():
    at_once = goal([1.0] * 6, [0.0] * 6)
    [answer] = compared(run(at_once), run(at_once))[0].data["comparisons"]
    assert answer["verdict"] == "inconclusive" and answer["value"] is None
    json.dumps(answer, allow_nan=False)


def test_a_metric_that_one_side_lacks_is_named():
    accuracy, times = metric("TestAccuracy", ACCURACY), metric("Time", ACCURACY, "cost")
    contrast, text = compared(run(accuracy, times), run(accuracy))
    assert list(contrast.lost) == ["only A has time"] and "only A has time" in text
    assert list(compared(run(accuracy), run(accuracy, times))[0].lost) == [
        "only B has time"
    ]


def test_a_seed_that_was_planned_and_not_trained_is_lost():
    accuracy = metric("TestAccuracy", ACCURACY)
    unfinished = run(accuracy)
    planned = replace(unfinished.plan, seeds=[*unfinished.plan.seeds, 6])
    unfinished = replace(unfinished, plan=planned)
    complete = run(metric("TestAccuracy", [*ACCURACY, 97.0]))
    contrast, text = compared(complete, unfinished)
    assert list(contrast.lost) == ["B did not train seed 6 to its end"]
    assert "B lost 1 seed that A has" in text
    assert not compared(run(accuracy), unfinished)[0].lost
    assert not compared(unfinished, complete)[0].lost


def loaded(record: RecipeRecord, load: float) -> RecipeRecord:
    facts = record.environment["classes"]["benchmark measurement setup"]
    facts["load (1 min)"] = {"value": load, "source": "here", "unavailable": None}
    return record


def test_the_state_of_the_machine_is_said_at_once_where_times_are_compared():
    times = metric("Time", [1.0, 1.1, 0.9], "cost", "lower")
    accuracy = metric("TestAccuracy", ACCURACY[:3])
    _, text = compared(loaded(run(times), 0.1), loaded(run(times), 3.5))
    first_lines = text.partition("|")[0]
    assert "The load of the machine was 0.1 when A began and 3.5" in first_lines
    assert "in one state of the machine" in first_lines
    _, text = compared(loaded(run(times), 0.1), loaded(run(times), 0.2))
    assert "The load" not in text and "in one state of the machine" in text
    _, text = compared(loaded(run(accuracy), 0.1), loaded(run(accuracy), 3.5))
    assert "The load" not in text and "one state" not in text


SLOW = [2.0, 2.2, 1.8, 2.1, 1.9, 2.0]
FAST = [value / 2 for value in SLOW]


def others_used(record: RecipeRecord, share: float) -> RecipeRecord:
    series = {"loss": [1.0], "seconds": [1.0]}
    look = Look(1, 1, 1.0, {"accuracy": 97.0})
    load = Load(share, 2)
    epoch = Epoch(seed=0, series=series, counters={}, evaluation=look, load=load)
    return replace(record, blocks=[epoch])


def in_turn(record: RecipeRecord) -> RecipeRecord:
    return replace(record, plan=replace(record.plan, in_turn="0123"))


def timed(values: list, kind: str = "cost") -> RecipeRecord:
    better = "lower" if kind == "cost" else "higher"
    return run(metric("TestAccuracy", ACCURACY), metric("Time", values, kind, better))


@pytest.mark.parametrize("kind", ["cost", "rate"])
def test_times_have_no_verdict_where_the_load_differed(kind):
    a, b = timed(FAST, kind), timed(SLOW, kind)
    plain = {"cost": "worse", "rate": "better"}[kind]
    for change, low, high in ((loaded, 0.1, 3.5), (others_used, 0.02, 0.45)):
        for equal in (low, high):
            contrast, _ = compared(change(a, equal), change(b, equal))
            assert contrast.data["comparisons"][1]["verdict"] == plain
        contrast, text = compared(change(a, low), change(b, high))
        accuracy, time = contrast.data["comparisons"]
        assert time["verdict"] == "inconclusive" and time["value"] == pytest.approx(2.0)
        assert (
            "no verdict: the load of the machine differed or was high" in time["note"]
        )
        assert "no verdict: the load of the machine differed or was high" in text
        assert accuracy["verdict"] == "same" and not contrast.worse
        contrast, _ = compared(in_turn(change(a, low)), in_turn(change(b, high)))
        assert contrast.data["comparisons"][1]["verdict"] == plain


def test_times_have_no_verdict_where_others_used_most_of_both():
    a, b = others_used(timed(FAST), 0.93), others_used(timed(SLOW), 0.98)
    contrast, text = compared(a, b)
    assert contrast.data["comparisons"][1]["verdict"] == "inconclusive"
    assert "Others used 93 % of the CPUs during A and 98 % during B" in text
    contrast, _ = compared(in_turn(a), in_turn(b))
    assert contrast.data["comparisons"][1]["verdict"] == "worse"


def test_what_the_epochs_met_counts_more_than_the_load_at_the_start():
    a = others_used(loaded(timed(FAST), 0.1), 0.3)
    b = others_used(loaded(timed(SLOW), 3.5), 0.31)
    contrast, _ = compared(a, b)
    assert contrast.data["comparisons"][1]["verdict"] == "worse"


RECIPE = """
import deep500 as d5

FIXED = {{"model": "mlp", "model_kwargs": {{"hidden": (8,)}}, "dataset": "digits", "epochs": 2}}
MUTABLE = {{"batch_size": 256, "executor": "reference", "optimizer": d5.optimizers.SGD({rate})}}
METRICS = [(d5.TestAccuracy(), None), (d5.metrics.StepsToAccuracy(20.0), None)][:{metrics}]
"""


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_gate_closes_on_lost_seeds_and_lost_metrics(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "1000")
    runs = {"good": (0.2, 2), "lost": (1e30, 2), "less": (0.2, 1)}
    for name, (rate, metrics) in runs.items():
        file = tmp_path / "r.py"
        file.write_text(RECIPE.format(rate=rate, metrics=metrics))
        out = str(tmp_path / name)
        assert cli.main(["run", str(file), "--seeds", "3", "--out", out]) == 0
    capsys.readouterr()

    def gate(a: str, b: str) -> tuple[int, str]:
        code = cli.main(["compare", str(tmp_path / a), str(tmp_path / b), "--gate"])
        return code, " ".join(capsys.readouterr().out.split())

    assert gate("good", "good")[0] == 0
    code, text = gate("good", "lost")
    assert code == 1 and "B lost 3 seeds that A has" in text
    assert "B lost seed 0 (diverged at epoch 1, step 2): no test accuracy" in text
    code, text = gate("good", "less")
    assert code == 1 and "only A has steps to accuracy (target 20)" in text
    assert gate("less", "good")[0] == 1
