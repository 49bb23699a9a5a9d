"""Every forgery that was tried on bundles ends in a refusal or a mark, is found by running again, or is admitted."""

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from deep500 import cli
from deep500.bundle.records.verification import verify
from deep500.rerun.recipe_files import load_recipe
from deep500.rerun.recipe_runner import run

from .forging import Forger, small_bench
from .test_contradictions import (
    RECIPE,
    every_other_process,
    faster,
    finished_before_created,
    later,
)

PAGE = Path(__file__).parents[2] / "docs" / "threat-model.md"


@pytest.fixture(scope="module")
def made(tmp_path_factory: Any) -> Iterator[Path]:
    """Two runs of a recipe that differ in its learning rate, and a benchmark."""
    folder: Path = tmp_path_factory.mktemp("honest")
    (folder / "small.py").write_text(RECIPE)
    (folder / "other.py").write_text(RECIPE.replace("SGD(0.1)", "SGD(0.3)"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEEP500_HOME", str(folder / "home"))
        run(load_recipe(folder / "small.py"), folder / "recipe", seeds=4)
        run(load_recipe(folder / "other.py"), folder / "other", seeds=4)
        small_bench(folder / "bench")
    yield folder


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stranger's ledger."""
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    return tmp_path


def without_the_first_seed(forger: Forger, made: Path) -> None:
    forger.drop_seed(0)


def renumbered(forger: Forger, made: Path) -> None:
    forger.drop_seed(0)
    forger.renumber()


def tenth(forger: Forger, made: Path) -> None:
    forger.scale_times(0.1)


def careful_times(forger: Forger, made: Path) -> None:
    forger.shortest_times()


def accuracy(forger: Forger, made: Path) -> None:
    for seed in range(4):
        forger.end(seed)["test"]["accuracy"] = 99.0


def picoseconds(forger: Forger, made: Path) -> None:
    forger.scale_times(1e-9)


def evaluation_time(forger: Forger, made: Path) -> None:
    for block in forger.epochs():
        block["evaluation"]["seconds"] = 1e-4 * block["evaluation"]["epoch"]


def better_epoch(forger: Forger, made: Path) -> None:
    for block in forger.epochs():
        if block["evaluation"]["epoch"] == 1:
            block["evaluation"]["validation"]["accuracy"] = 95.0


def spliced(forger: Forger, made: Path) -> None:
    """Seeds 2 and 3 come from a run with another learning rate."""
    other = Forger(made / "other")
    first = forger.created
    kept = [block for block in forger.blocks if block["seed"] < 2]
    taken = [block for block in other.blocks if block["seed"] >= 2]
    forger.blocks = kept + copy.deepcopy(taken)
    forger.finished = other.finished
    for seed in (2, 3):
        name = f"weights-{seed}.safetensors"
        forger.files[name] = other.files[name]
    assert forger.created == first


def old_processor(forger: Forger, made: Path) -> None:
    facts = forger.environment["classes"]["hardware compute"]
    facts["cpu model"]["value"] = "Intel 8086"


def next_year(forger: Forger, made: Path) -> None:
    year = 400 * 86400
    forger.created = later(forger.created, year)
    forger.finished = later(forger.finished, year)
    facts = forger.environment["classes"]["benchmark measurement setup"]
    facts["moment"]["value"] = forger.created
    for block in forger.epochs():
        block["counters"]["unix time"] += year


def backwards(forger: Forger, made: Path) -> None:
    finished_before_created(forger)


def third(forger: Forger, made: Path) -> None:
    faster(forger)


def processes_0_and_2(forger: Forger, made: Path) -> None:
    every_other_process(forger)


def no_load(forger: Forger, made: Path) -> None:
    for block in forger.blocks:
        if "load" in block:
            block["load"]["others"] = 0.0


REFUSED, MARKED, REPLAY, REPRODUCE = "refused", "marked", "replay", "reproduce"
UNDECIDED = "undecided"
# what changes, how it ends, and what is said there; the last rows are those of the page
Row = tuple[str, Callable[[Forger, Path], None], str, str]
FORGERIES: dict[str, Row] = {
    "a": ("recipe", without_the_first_seed, MARKED, "the seeds are 1, 2, 3"),
    "a2": ("recipe", renumbered, REPRODUCE, "0 of 3 seeds gave the same bits"),
    "b": ("recipe", tenth, REFUSED, "the clock counts whole nanoseconds"),
    # four seeds cannot decide a time; with six, tests/test_reproduction.py finds it
    "b, careful": ("recipe", careful_times, UNDECIDED, "throughput); inter"),
    "b2": ("recipe", accuracy, REPLAY, "recorded 99 %"),
    "b3": ("recipe", picoseconds, REFUSED, "no step takes less than"),
    "b4": ("recipe", evaluation_time, REFUSED, "evaluated at 0.0001 s"),
    "b4, epoch": ("recipe", better_epoch, REPRODUCE, "not again: evaluation of every"),
    "c": ("recipe", spliced, "sentence", "2 of 4 seeds gave the same bits"),
    "d": ("recipe", old_processor, "page", "another machine in environment.json"),
    "h": ("recipe", next_year, MARKED, "and the clock here says"),
    "h2": ("recipe", backwards, REFUSED, "lies before created"),
    "bench ns / 3": ("bench", third, REFUSED, "its samples add up to"),
    "bench processes": ("bench", processes_0_and_2, REFUSED, "processes are [0, 2]"),
    "bench load": ("bench", no_load, "page", "no load where there was some"),
}


def said_by(capsys: Any, *words: object) -> tuple[int, str]:
    capsys.readouterr()
    code = cli.main([*map(str, words)])
    return code, " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_ends_as_the_page_says(
    made: Path, home: Path, capsys: Any, name: str
) -> None:
    kind, change, ending, expected = FORGERIES[name]
    forger = Forger(made / kind)
    change(forger, made)
    folder = forger.seal(home / "forged")
    code, text = said_by(capsys, "verify", folder)
    if ending == REFUSED:
        assert code == 1 and expected in text, text
        return
    assert code == 0, text
    assert ("mark:" in text) == (ending == MARKED), text
    if ending == MARKED:
        assert expected in text
    elif ending == "page":
        assert expected in PAGE.read_text()
    elif ending == REPLAY:
        code, text = said_by(capsys, "verify", folder, "--replay")
        assert code == 1 and expected in text, text
    else:
        words = ("--recipe", made / "small.py", "--out", home / "again")
        code, text = said_by(capsys, "reproduce", folder, *words)
        assert expected in text, text
        expected_code = {REPRODUCE: 1, UNDECIDED: 3}.get(ending, code)
        assert code == expected_code, text


def test_the_machine_of_a_run_knows_every_forgery(
    made: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its ledger has the plan and the manifest, or was writing another bundle at that time."""
    monkeypatch.setenv("DEEP500_HOME", str(made / "home"))
    for number, name in enumerate(
        ("a", "a2", "b, careful", "b2", "c", "d", "bench load")
    ):
        kind, change, _, _ = FORGERIES[name]
        forger = Forger(made / kind)
        change(forger, made)
        found = verify(forger.seal(home / str(number)))
        changes_plan = name in ("a", "a2")
        assert found.ledger.word == ("unknown" if changes_plan else "differs"), name
        assert "was going on here" in found.ledger.sentence or not changes_plan
