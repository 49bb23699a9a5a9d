"""Honest bundles of every kind raise no alarm, and fooled ones are found by the rule of their way."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from deep500.bundle.records.loading import load
from deep500.dossiers.auditing import Audit, all_rules, audit, chosen_rules
from deep500.dossiers.sources import read_sources, whole_dossier
from deep500.errors import Deep500Error
from deep500.fooling.fool import fool
from deep500.fooling.ways import WAYS

DATA = Path(__file__).parents[1] / "data"
HONEST = sorted(DATA.glob("*/*.zip"))
NAMES = [path.stem for path in HONEST]
RECIPES = ["recipe", "recipe_adam", "gan", "diverged"]
OPERATORS = ["operator", "operator_again", "operator_suite", "network"]
OLD = {
    "operators": DATA / "before" / "operator-0.1.0.zip",
    "recipes": DATA / "before" / "recipe-procedure-1.zip",
}
FIFTH = {3: "ranks", 4: "bench", 5: None, 7: OLD["operators"]}


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


def honest_for(way: int) -> list[Path]:
    """Five honest bundles to fool with."""
    names = OPERATORS if way == 7 else RECIPES
    paths = [DATA / "golden" / f"{name}.zip" for name in names]
    fifth = FIFTH.get(way, OLD["recipes"])
    if isinstance(fifth, str):
        fifth = DATA / "golden" / f"{fifth}.zip"
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


def test_honest_results_side_by_side_raise_no_alarm() -> None:
    golden = DATA / "golden"
    result = audited(golden / "recipe.zip", golden / "recipe_adam.zip")
    assert [outcome.id for outcome in result.having("FAIL")] == []
    assert {"F12", "F8", "N11"} <= {outcome.id for outcome in result.having("PASS")}
