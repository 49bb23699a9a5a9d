"""Honest bundles of every kind raise no alarm, and fooled ones are found by the rule of their way."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from deep500.audit.r09_setup import R09Setup
from deep500.bundle.records.loading import load
from deep500.contracts.dossier import Dossier
from deep500.dossiers.auditing import Audit, all_rules, audit, chosen_rules
from deep500.dossiers.bundles import bundle_dossier, record_dossier, setup_of
from deep500.dossiers.sources import read_sources, whole_dossier
from deep500.errors import Deep500Error
from deep500.fooling.draft import draft_of
from deep500.fooling.fool import fool
from deep500.fooling.ways import WAYS
from deep500.measure.machine import environment as this_environment

DATA = Path(__file__).parents[1] / "data"
HONEST = sorted(DATA.glob("*/*.zip"))
NAMES = [path.stem for path in HONEST]
RECIPES = ["recipe", "recipe_adam", "gan", "diverged"]
OPERATORS = ["operator", "operator_again", "operator_suite", "network"]
OLD = {
    "operators": DATA / "before" / "operator-0.1.0.zip",
    "recipes": DATA / "before" / "recipe-procedure-1.zip",
}
FIFTH: dict[int, Path | None] = {
    3: DATA / "golden" / "ranks.zip",
    4: DATA / "golden" / "bench.zip",
    5: None,
    7: OLD["operators"],
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))


def audited(*paths: Path, rules: str = "") -> Audit:
    sources = read_sources([str(path) for path in paths])
    chosen = chosen_rules(rules.split()) if rules else all_rules()
    return audit(whole_dossier(sources), chosen, [path.name for path in paths])


@pytest.mark.parametrize("path", HONEST, ids=NAMES)
def test_an_honest_bundle_raises_no_alarm(path: Path) -> None:
    result = audited(path)
    assert [outcome.id for outcome in result.having("FAIL")] == []
    assert result.exit_code == 0


def test_evidence_is_what_the_bundle_says() -> None:
    path = DATA / "golden" / "bench.zip"
    [outcome] = audited(path, rules="R1").outcomes
    [evidence] = outcome.findings[0].evidence
    derived = load(path).derived
    assert evidence.file == "derived.json"
    assert evidence.field == "entries/0/median"
    assert evidence.value == derived.entries[0].median


def test_installed_code_is_identified_by_its_hash() -> None:
    """Outside of a checkout there is no commit; without the hash of the package, nothing says which code has run."""
    record = load(DATA / "golden" / "bench.zip")
    environment = this_environment().to_json()
    for fact in environment["classes"]["benchmark source code"].values():
        fact |= {"value": None, "unavailable": "not a git checkout"}
    installed = setup_of(replace(record, environment=environment))
    [finding] = R09Setup().judge(Dossier(setup=[installed]))
    assert finding.verdict == "PASS"
    package = environment["classes"]["benchmark input and software"]
    digest = package["source of deep500"]["value"]
    assert installed.source == f"deep500, sha256 {digest}"
    package["source of deep500"] |= {"value": None, "unavailable": "unknown"}
    unknown = setup_of(replace(record, environment=environment))
    [finding] = R09Setup().judge(Dossier(setup=[unknown]))
    assert finding.verdict == "WARN"
    assert finding.text == "the set-up: not described: source"


def honest_for(way: int) -> list[Path]:
    """Five honest bundles to fool with."""
    names = OPERATORS if way == 7 else RECIPES
    paths = [DATA / "golden" / f"{name}.zip" for name in names]
    fifth = FIFTH.get(way, OLD["recipes"])
    return [*paths, fifth] if fifth else paths


def cells() -> Iterator[tuple[int, Path]]:
    for way in WAYS:
        for path in honest_for(way):
            yield way, path


CELLS = list(cells())


@pytest.mark.parametrize(
    ("way", "path"), CELLS, ids=[f"{way}-{path.stem}" for way, path in CELLS]
)
def test_every_way_is_found(way: int, path: Path, tmp_path: Path) -> None:
    out = tmp_path / "fooled"
    fool(path, way, out)
    result = audited(out, rules=f"F{way}")
    assert result.having("FAIL"), result.sentence
    # by the rule of its way, not because of a sloppy forgery
    assert not audited(out, rules="N16").having("FAIL")


def test_ranks_are_more_than_those_of_the_honest_run(tmp_path: Path) -> None:
    out = tmp_path / "fooled"
    fool(DATA / "golden" / "codec.zip", 1, out)
    assert audited(out, rules="F1").having("FAIL")


def test_the_name_says_that_it_is_fooled(tmp_path: Path) -> None:
    with pytest.raises(Deep500Error, match="must contain 'fooled'"):
        fool(HONEST[0], 2, tmp_path / "honest")


@pytest.mark.parametrize("way", [0, 13, -1])
def test_an_unknown_way_is_refused(way: int, tmp_path: Path) -> None:
    with pytest.raises(Deep500Error, match="there is no way"):
        fool(HONEST[0], way, tmp_path / "fooled")


def test_a_way_that_does_not_fit_writes_nothing(tmp_path: Path) -> None:
    out = tmp_path / "fooled"
    for way in (1, 2, 3, 5, 6, 8, 9, 10, 11, 12):
        with pytest.raises(Deep500Error, match="give a bundle of `d5 run`"):
            fool(DATA / "golden" / "bench.zip", way, out)
    assert not out.exists()


PAIRS = {
    "bench bench_again": "",
    "operator operator_again": "N12",
    "instrumented instrumented_again": "",
    "recipe recipe_adam": "F8 F12 N11",
    "recipe diverged": "F12 N13",
    "ranks codec": "N11",
    "bench recipe": "",
}


@pytest.mark.parametrize(("names", "kept"), PAIRS.items(), ids=list(PAIRS))
def test_honest_results_side_by_side_raise_no_alarm(names: str, kept: str) -> None:
    paths = [DATA / "golden" / f"{name}.zip" for name in names.split()]
    result = audited(*paths)
    assert [outcome.id for outcome in result.having("FAIL")] == []
    assert set(kept.split()) <= {outcome.id for outcome in result.having("PASS")}


def test_another_target_for_the_same_recipe_is_found(tmp_path: Path) -> None:
    draft = draft_of(DATA / "golden" / "recipe.zip")
    draft.metrics[0][1] = 91.0
    draft.seal(tmp_path / "lowered")
    result = audited(DATA / "golden" / "recipe.zip", tmp_path / "lowered", rules="N11")
    assert result.having("FAIL")


def test_another_method_for_the_same_statements_is_found(tmp_path: Path) -> None:
    draft = draft_of(DATA / "golden" / "bench_one.zip")
    draft.plan["cache"] = "cold"
    draft.seal(tmp_path / "cold")
    result = audited(DATA / "golden" / "bench_one.zip", tmp_path / "cold", rules="N12")
    assert result.having("FAIL")


def test_equal_test_and_training_data_are_found(tmp_path: Path) -> None:
    draft = draft_of(DATA / "golden" / "recipe.zip")
    draft.plan["data"]["test"] = draft.plan["data"]["train"]
    draft.seal(tmp_path / "leaked")
    assert audited(tmp_path / "leaked", rules="N10").having("FAIL")


def test_a_seed_that_is_taken_out_is_found(tmp_path: Path) -> None:
    draft = draft_of(DATA / "golden" / "recipe.zip")
    draft.blocks[:] = [block for block in draft.blocks if block["seed"] != 0]
    draft.files.pop("weights-0.safetensors")
    draft.seal(tmp_path / "chosen")
    assert audited(tmp_path / "chosen", rules="N9").having("FAIL")


def test_a_count_of_operations_that_is_too_large_is_found(tmp_path: Path) -> None:
    """Way 7 with its precision kept: the rate is above the measured peak."""
    draft = draft_of(DATA / "golden" / "operator_suite.zip")
    for entry in draft.plan["entries"]:
        entry["work"]["flops"] *= 100
    draft.seal(tmp_path / "counted")
    assert audited(tmp_path / "counted", rules="N6").having("FAIL")


def test_work_after_the_clock_is_found(tmp_path: Path) -> None:
    draft = draft_of(DATA / "golden" / "bench_one.zip")
    draft.blocks[0]["after"] = [40.0 for _ in draft.blocks[0]["after"]]
    draft.seal(tmp_path / "deferred")
    assert audited(tmp_path / "deferred", rules="N4").having("FAIL")


def test_a_clock_that_was_slowed_down_is_found(tmp_path: Path) -> None:
    draft = draft_of(DATA / "golden" / "bench_one_process.zip")
    for block in draft.blocks:
        clocks = block["clocks"]
        clocks["spent_ns"] = clocks["spent_ns"] * 20 + 2_000_000_000
        clocks["wall_ns"] = clocks["spent_ns"] + clocks["wall_ns"]
    draft.seal(tmp_path / "slowed")
    assert audited(tmp_path / "slowed", rules="N3").having("FAIL")


def test_a_slow_clock_in_one_part_of_a_suite_is_found(tmp_path: Path) -> None:
    draft = draft_of(DATA / "golden" / "suite.zip")
    [first, *_] = [block["times"] for block in draft.blocks if "times" in block]
    first["clocks"] = {"wall_ns": 2 * 10**9, "spent_ns": 10**9, "timed_ns": 10**8}
    draft.seal(tmp_path / "slowed")
    [outcome] = audited(tmp_path / "slowed", rules="N3").having("FAIL")
    assert "test_speed.py::test_a" in outcome.findings[0].text


def test_a_suite_that_ended_before_its_time_is_found() -> None:
    record = load(DATA / "golden" / "suite.zip")
    dossier = record_dossier(replace(record, finished=False))
    assert len(dossier.measurement) == 1 + 3  # the bundle and its parts
    result = audit(dossier, chosen_rules(["N16"]), ["suite.zip"])
    assert result.having("FAIL")


REFERENCE = """
[[convergence]]
role = "reference"
subject = "digits_mlp, until 80 %"
global_batch = {batch}
unit = "steps"
needed = {needed}
"""


@pytest.mark.parametrize(("factor", "verdict"), [(0.5, "PASS"), (10, "FAIL")])
def test_a_run_is_held_against_a_reference_of_ones_own(
    factor: float, verdict: str, tmp_path: Path
) -> None:
    draft = draft_of(DATA / "golden" / "recipe.zip")
    for metric in draft.metrics:
        if metric[0]["definition"] == "TimeToAccuracy":
            metric[0]["settings"]["target"] = 80.0  # which all seeds reach
    draft.seal(tmp_path / "run")
    [declared] = bundle_dossier(tmp_path / "run").convergence
    assert declared.needed and len(declared.needed) == 3
    needed = 6 * [max(declared.needed) * factor]
    reference = tmp_path / "reference.toml"
    batch = declared.global_batch
    reference.write_text(REFERENCE.format(batch=batch, needed=needed))
    found = audited(reference, tmp_path / "run", rules="N17")
    assert found.outcomes[0].verdict == verdict
