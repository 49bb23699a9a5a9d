"""Reports of recipes' runs: real bundles, altered where a case is rare."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deep500 import bundle
from deep500.bundle.records.loading import record_of, report_of
from deep500.contracts.result import derived_document
from deep500.errors import Deep500Error
from deep500.frameworks import framework
from deep500.hashing.canonical_form import form_hash
from deep500.reports.html import html
from deep500.reports.terminal import terminal
from deep500.rerun.recipe_files import load_recipe
from deep500.rerun.recipe_runner import run
from deep500.results.recipe import Recipe
from deep500.training.outcome import outcome
from tests.training.recipe_documents import checked_blocks, checked_plan

from .rendering import bundle_html as outcome_html
from .rendering import bundle_markdown as outcome_markdown
from .rendering import bundle_text as outcome_text
from .test_files_from_anyone import junk
from .test_html import check_page

MLP = Path(__file__).parents[2] / "recipes" / "digits_mlp.py"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A small run of a recipe."""
    folder = tmp_path_factory.mktemp("outcomes")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEEP500_HOME", str(folder / "home"))
        recipe = load_recipe(MLP).with_settings(
            {"executor": framework("reference").from_model}
        )
        return run(recipe, folder / "run", tier="tiny", seeds=6).bundle


@pytest.fixture
def variant(finished, tmp_path):
    """The run again, with another plan or other blocks, finished or not, as sound as any bundle."""

    def make(change=lambda plan, blocks: None, finish=True, name="variant"):
        found = bundle.read(finished)
        plan, environment = (
            json.loads(json.dumps(found.documents["plan.json"])),
            found.documents["environment.json"],
        )
        blocks = json.loads(json.dumps(found.blocks))
        change(plan, blocks)
        plan["hash"] = form_hash(plan["recipe"])
        writer = bundle.create(
            tmp_path / name,
            {"plan.json": plan, "environment.json": environment},
            kind="recipe",
        )
        for block in blocks:
            writer.append(block)
        if finish:
            weights = {name: found.load(name) for name in found.files}
            numbers = outcome(checked_plan(plan), checked_blocks(blocks))
            derived = derived_document(Recipe(), numbers)
            writer.finish({"derived.json": derived}, weights)
        else:
            writer.close()
        return tmp_path / name

    return make


def aim(target, tests=None):
    """Set the target of the test accuracy, and what each seed got."""

    def change(plan, blocks):
        plan["recipe"]["metrics"][0][1] = target
        for value, block in zip(
            tests or (), (b for b in blocks if "evaluation" not in b), strict=False
        ):
            block["test"] = value

    return change


def only(seeds):
    def change(plan, blocks):
        plan["seeds"] = plan["seeds"][:seeds]
        blocks[:] = [b for b in blocks if b["seed"] < seeds]

    return change


def test_a_real_run_as_text(finished):
    text = outcome_text(finished)
    first, *_ = text.splitlines()
    assert re.fullmatch(
        r"\*\*(acceptable|acceptable, but not surely|NOT acceptable): test accuracy [\d.]+ % "
        r"\[[\d.]+, [\d.]+\] over 6 seeds, target 93 %( \(.*\))?\*\*",
        first,
    ), first
    for said in (
        "| time to accuracy (target 93)",
        "| throughput",
        "`Momentum(0.1, 0.9)`",
        "`reference`",
        "FIXED",
        "MUTABLE",
        "d5 verify",
        "2 of the recipe's 20 epochs",
        bundle.read(finished).documents["plan.json"]["hash"],  # type: ignore[index]
    ):
        assert said in text, said
    assert "PROBLEM" not in text


def test_a_real_run_as_a_page(finished):
    source = outcome_html(finished)
    page = check_page(source)
    assert sum(tag == "figure" for tag, _ in page.tags) == 4
    assert source.count("<svg") == 2 * 4  # for wide screens, and for phones
    assert [row[0] for row in page.table("median over seeds")[1:]] == [
        "test accuracy",
        "time to accuracy (target 93)",
        "throughput",
    ]
    assert all(
        re.search(r"(\[.+\]|not reached), n = 6$", row[1])
        for row in page.table("median over seeds")[1:]
    )
    assert "moving median" in page.text and "may be interpolated" in page.text
    assert page.headings[1:3] == ["Metrics", "Pictures"]
    # the methods, the recipe and the environment
    assert sum(tag == "details" for tag, _ in page.tags) == 3


GOOD, SPREAD = [97, 97.1, 97.2, 97.3, 97.4, 97.5], [90, 94, 96, 96, 97, 98]
VERDICTS = {
    "clear": (GOOD, 95, "acceptable: ", "acceptable"),
    "unsure": (SPREAD, 95, "acceptable, but not surely: ", "inconclusive"),
    "missed": (GOOD, 99, "NOT acceptable: ", "not-acceptable"),
    "missed, perhaps": (SPREAD, 97, "NOT acceptable: ", "not-acceptable"),
    "no target": (GOOD, None, "nothing was asked for: ", "measured"),
}


@pytest.mark.parametrize("case", VERDICTS)
def test_every_verdict(variant, case):
    tests, target, words, tone = VERDICTS[case]
    path = variant(aim(target, tests))
    first = outcome_text(path).splitlines()[0]
    assert first.startswith(f"**{words}")
    assert ("does not clear it" in first) == (case == "unsure")
    assert ("more seeds may decide otherwise" in first) == (case == "missed, perhaps")
    assert f'class="banner {tone}"' in outcome_html(path)


def test_one_seed_has_no_interval_and_it_says_why(variant):
    path = variant(only(1))
    text = outcome_text(path)
    assert (
        "[no interval] over 1 seed" in text.splitlines()[0]
        and "1 seed gives no interval" in text.splitlines()[0]
    )
    assert "no interval: " in text and "n = 1" in text
    check_page(outcome_html(path))


def test_seeds_that_never_got_there_are_counted(variant):
    def fail(plan, blocks):
        for b in blocks:
            if "evaluation" in b:
                b["evaluation"]["validation"] = 20.0 if b["seed"] < 2 else 95.0

    text = outcome_markdown(variant(fail))
    [row] = [
        line for line in text.splitlines() if line.startswith("| time to accuracy")
    ]
    assert "not known], n = 6" in row and "2 of 6 never" in row
    assert "2 of 6 seeds never reached it" in text
    page = outcome_html(variant(fail, name="page"))
    assert "2 of 6 seeds never reached it" in page and "<svg" in page

    def fail_all(plan, blocks):
        for b in blocks:
            if "evaluation" in b:
                b["evaluation"]["validation"] = 20.0

    assert "not reached, n = 6" in outcome_text(variant(fail_all, name="all"))


@pytest.mark.parametrize(
    "kept, said",
    [
        (0, "0 of 6 seeds were trained to the end"),
        (1, "0 of 6 seeds were trained to the end, seed 0 got through 1 of 2 epochs"),
        (7, "2 of 6 seeds were trained to the end, seed 2 got through 1 of 2 epochs"),
    ],
)
def test_an_unfinished_run_says_how_far_it_got_and_how_to_go_on(variant, kept, said):
    path = variant(
        lambda plan, blocks: blocks.__delitem__(slice(kept, None)), finish=False
    )
    text = outcome_text(path)
    assert text.startswith(f"**unfinished: {said}**")
    command = re.search(r"`(d5 run .*?)`", text)[1]
    assert (
        f"--out {path} --resume --framework reference" in command
        and "--seeds 6" in command
    )
    assert "--set batch_size=64" in command and "'optimizer_args=[0.1, 0.9]'" in command
    page = check_page(outcome_html(path))
    assert "d5 run" in page.text and ("no verdict on the recipe" in page.text) == (
        kept == 7
    )


def test_numbers_come_from_the_samples_and_a_false_claim_is_a_problem(
    variant, finished
):
    found = bundle.read(finished)
    path = variant(name="claim", finish=False)
    false = json.loads(json.dumps(found.documents["derived.json"]))
    false["metrics"][0]["median"] = 99.99
    bundle.resume(path).finish({"derived.json": false})
    text = outcome_text(path)
    assert text.startswith("**NOT VERIFIED: this bundle has ")
    claims = [line for line in text.splitlines() if "99.99" in line]
    assert claims and all(line.startswith("- PROBLEM: derived.json") for line in claims)
    assert 'class="alarm"' in outcome_html(path)


def test_everything_is_escaped(variant):
    bad = "<script>alert(1)</script>\x1b[31m\u202e`x`|"

    def poison(plan, blocks):
        plan["tier"] = plan["hash"] = plan["recipe"]["name"] = bad
        plan["recipe"]["fixed"] |= {
            "model": bad,
            bad: bad,
            "dataset_kwargs": {bad: bad},
        }
        plan["recipe"]["mutable"] |= {
            "executor": {"name": bad},
            "optimizer_kwargs": {bad: [bad]},
        }

    for finish in (True, False):
        path = variant(poison, finish, f"bad{finish}")
        source = outcome_html(path)
        check_page(source)
        text = outcome_text(path)
        assert "<script" not in source and not re.search("[\x1b\u202e]", source + text)
        text = outcome_markdown(path).split("## Environment")[0]
        assert not re.search("[\x1b\u202e]", text)
        assert all(
            len(re.findall(r"(?<!\\)\|", line)) in (0, 4, 6)
            for line in text.splitlines()
            if line[:1] == "|"
        )


blocks_of_anyone = st.lists(
    st.fixed_dictionaries(
        {"seed": st.integers(0, 2)},
        optional={
            "losses": st.lists(st.floats(-1e299, 1e299), min_size=1, max_size=3),
            "series": st.dictionaries(
                st.sampled_from(["loss", "seconds", "rate"]),
                st.lists(st.none() | st.floats(-1e299, 1e299), min_size=1, max_size=2),
            ),
            "counters": st.dictionaries(st.just("samples"), st.integers(0, 9)) | junk,
            "samples": st.integers(0, 9),
            "test": st.floats(-1e299, 1e299)
            | st.dictionaries(st.just("accuracy"), st.floats(-1e299, 1e299))
            | junk,
            "recorded": st.dictionaries(
                st.just("Mine"), st.none() | st.floats(-1e299, 1e299)
            ),
            "step_seconds": st.lists(st.floats(-1, 1e299), min_size=1, max_size=3),
            "evaluation": st.fixed_dictionaries(
                {
                    k: st.floats(-1e299, 1e299) | st.integers(-3, 3)
                    for k in ("epoch", "step", "seconds", "validation")
                },
                optional={"test": junk},
            ),
            "build_seconds": st.floats(-1, 1e299) | junk,
            "weights": st.just("h") | junk,
        },
    ),
    max_size=5,
)


def from_anyone(blocks, plan, metric, arguments):
    """What a file holds, seen by every renderer; pages are only drawn where the text is fine."""
    definition = {"definition": metric, "settings": arguments}
    good = {
        "recipe": {
            "name": "r",
            "fixed": {},
            "mutable": {},
            "metrics": [[definition, None]],
        },
        "seeds": [0],
        "epochs": 1,
        "hash": "h",
        "tier": "t",
        "level": 0.95,
    }
    found = bundle.Bundle(
        Path("b"),
        False,
        "recipe",
        documents={"plan.json": good | plan, "environment.json": {}},
        blocks=blocks,
    )
    try:
        report = report_of(record_of(found))
    except Deep500Error as error:
        assert "\n" not in str(error)
        return None
    assert terminal(report)
    return report


METRICS = st.sampled_from(
    ["FinalLoss", "TestAccuracy", "TimeToAccuracy", "Throughput", "os", ""]
)
PLANS = st.dictionaries(
    st.sampled_from(["seeds", "epochs", "hash", "tier", "level", "recipe", "threads"]),
    junk,
)


@settings(deadline=None)
@given(blocks_of_anyone, PLANS, METRICS, st.just({}) | st.just({"target": 1.0}) | junk)
def test_text_of_files_from_anyone(blocks, plan, metric, arguments):
    from_anyone(blocks, plan, metric, arguments)


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.floats(-1e299, 1e299), min_size=6, max_size=6),
    METRICS,
    st.sampled_from([{}, {"target": 1.0}]),
)
def test_pages_of_files_from_anyone(numbers, metric, arguments):
    loss, seconds, at, accuracy, test, built = numbers
    blocks = [
        {
            "seed": 0,
            "losses": [loss, 1.0],
            "step_seconds": [seconds, 1.0],
            "samples": 1,
            "evaluation": {
                "epoch": 1,
                "step": 2,
                "seconds": at,
                "validation": accuracy,
                "test": None,
            },
        },
        {"seed": 0, "test": test, "build_seconds": built, "weights": "h"},
    ]
    report = from_anyone(blocks, {}, metric, arguments)
    if metric == "TestAccuracy" and not arguments:
        assert report  # blocks of this form are drawn, not refused
    if report:
        check_page(html(report))
