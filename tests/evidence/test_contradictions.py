"""A bundle may not contradict itself: every check of `d5 verify` finds a forgery whose hashes and numbers all hold."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from deep500 import cli, measure
from deep500.bundle.records.verification import verify
from deep500.measure.bench_blocks import check_blocks
from deep500.measure.bench_plan import check_plan
from deep500.measure.plan import make_plan
from deep500.rerun.recipe_files import load_recipe
from deep500.rerun.recipe_runner import run
from deep500.results.benching.contradictions import stopping
from deep500.training.events import Event

from .forging import Forger, small_bench

BEFORE = Path(__file__).parents[1] / "data" / "before"

RECIPE = """
import deep500 as d5

FIXED = {"model": "mlp", "dataset": "digits", "epochs": 3}
MUTABLE = {"batch_size": 256, "executor": "reference", "optimizer": d5.optimizers.SGD(0.1)}
METRICS = [(d5.TestAccuracy(), 10.0), (d5.TimeToAccuracy(20.0), None), (d5.Throughput(), None)]
"""
Change = Callable[[Forger], object]


@pytest.fixture(scope="module")
def made(tmp_path_factory: Any) -> Iterator[Path]:
    """A run of a recipe with four seeds, and a benchmark of three processes."""
    folder: Path = tmp_path_factory.mktemp("honest")
    (folder / "small.py").write_text(RECIPE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEEP500_HOME", str(folder / "home"))
        run(load_recipe(folder / "small.py"), folder / "recipe", seeds=4)
        small_bench(folder / "bench")
    yield folder


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stranger's ledger, which does not know the bundles."""
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    return tmp_path


def later(date: str, seconds: float) -> str:
    moment = datetime.fromisoformat(date) + timedelta(seconds=seconds)
    return moment.isoformat(timespec="seconds")


def set_in(value: object, *path: Any) -> Change:
    def change(forger: Forger) -> None:
        holder: Any = forger.plan
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = value

    return change


def with_hashes(change: Change) -> Change:
    def both(forger: Forger) -> None:
        change(forger)
        forger.rehash()

    return both


def lost_block_of_seed(forger: Forger) -> None:
    forger.blocks = [block for block in forger.blocks if block["seed"] != 2]
    del forger.files["weights-2.safetensors"]


def called_closed(forger: Forger) -> None:
    forger.plan["recipe"]["fixed"]["epochs"] = 3
    forger.plan["differences"] = [["epochs", 2, 3]]


def false_difference(forger: Forger) -> None:
    forger.plan["division"] = "open"
    forger.plan["differences"] = [["epochs", 20, 60]]


def one_epoch_less(forger: Forger) -> None:
    """The last epoch of seed 0 is gone, and nothing says why it was stopped."""
    last = forger.of(0)[-2]
    assert last["evaluation"]["epoch"] == 3
    forger.blocks.remove(last)


def numbered_twice(forger: Forger) -> None:
    forger.epochs()[1]["evaluation"]["epoch"] = 1


def end_before_its_epochs(forger: Forger) -> None:
    end = forger.end(0)
    forger.blocks.remove(end)
    forger.blocks.insert(1, end)


def fewer_steps(forger: Forger) -> None:
    for numbers in forger.epochs()[0]["series"].values():
        del numbers[-1:]


def more_samples(forger: Forger) -> None:
    forger.epochs()[0]["counters"]["samples"] *= 2


def earlier_evaluation(forger: Forger) -> None:
    forger.epochs()[0]["evaluation"]["seconds"] = 1e-4


def tenth(forger: Forger) -> None:
    forger.scale_times(0.1)


def impossible_steps(forger: Forger) -> None:
    forger.scale_times(1e-9, whole_ns=False)


def waits_longer_than_steps(forger: Forger) -> None:
    forger.epochs()[0]["series"]["data"][0] = 1e3


def shorter_run(forger: Forger) -> None:
    forger.epochs()[0]["counters"]["run seconds"] = 1e-6


def run_goes_back(forger: Forger) -> None:
    forger.of(0)[0]["counters"]["run seconds"] = 1e4


def finished_before_created(forger: Forger) -> None:
    forger.finished, forger.created = "2020-01-01T00:00:00+00:00", forger.finished


def finished_at_once(forger: Forger) -> None:
    """Its seeds claim to have run for an hour each."""
    for block in forger.blocks:
        if "build_seconds" in block:
            block["build_seconds"] = 3600.0


def moved_by_a_year(forger: Forger) -> None:
    year = 365 * 86400
    forger.created = later(forger.created, -year)
    forger.finished = later(forger.finished, -year)


def moment_moved(forger: Forger) -> None:
    """The dates and the moment of the environment are a year earlier; those of the epochs are forgotten."""
    moved_by_a_year(forger)
    facts = forger.environment["classes"]["benchmark measurement setup"]
    facts["moment"]["value"] = forger.created


RECIPES: dict[str, tuple[Change, str]] = {
    "seed lost": (lost_block_of_seed, "the seeds [0, 1, 3] were trained to the end"),
    "seed twice": (set_in([0, 1, 1, 3], "seeds"), "a seed is planned twice"),
    "target": (set_in(1.0, "recipe", "metrics", 0, 1), "hash is"),
    "optimizer": (
        set_in(9.0, "recipe", "mutable", "optimizer", "settings", "learning_rate"),
        "hash is",
    ),
    "model": (set_in("lenet", "recipe", "fixed", "model"), "fixed_hash is"),
    "60 epochs, closed": (set_in(60, "epochs"), "60 epochs, and the tier"),
    "open called closed": (
        with_hashes(called_closed),
        "division 'closed', and FIXED was changed (epochs)",
    ),
    "false difference": (false_difference, "the differences set FIXED 'epochs' to 60"),
    "scaled": (set_in({"batch_size": 1}, "scale"), "it is scaled by {'batch_size': 1}"),
    "epoch lost": (one_epoch_less, "nothing says why it was stopped"),
    "epoch twice": (numbered_twice, "its epochs are numbered [1, 1, 3]"),
    "end in the middle": (end_before_its_epochs, "it ended at block 2 of its 4"),
    "steps": (fewer_steps, "evaluated after step"),
    "samples": (more_samples, "samples were counted, and the batches have"),
    "evaluation time": (earlier_evaluation, "evaluated at 0.0001 s, and the steps"),
    "all times / 10": (tenth, "the clock counts whole nanoseconds"),
    "steps of 1e-12 s": (impossible_steps, "samples/s; no step takes less than"),
    "waiting": (waits_longer_than_steps, "1000 s of 'data' in a step of"),
    "run": (shorter_run, "s of a run of 1e-06 s"),
    "run goes back": (run_goes_back, "and 10000 s at the epoch before"),
    "dates": (
        finished_before_created,
        "finished 2020-01-01T00:00:00+00:00 lies before",
    ),
    "too short": (finished_at_once, "its seeds ran for 1440"),
    "moved": (moved_by_a_year, "lies after created"),
    "moved with its moment": (moment_moved, "and the bundle begins at"),
}


def refused(folder: Path, expected: str) -> None:
    found = verify(folder)
    assert not found.ok
    assert any(expected in problem for problem in found.problems), found.problems


def test_honest_bundles_verify(made: Path) -> None:
    for name in ("recipe", "bench"):
        found = verify(made / name)
        assert found.ok, found.problems
        assert found.remarks == ()


@pytest.mark.parametrize("kind", ["recipe", "bench"])
def test_a_bundle_that_is_sealed_again_unchanged_verifies(
    made: Path, home: Path, kind: str
) -> None:
    """So that a refusal below is due to what was changed."""
    found = verify(Forger(made / kind).seal(home / "same"))
    assert found.ok, found.problems


@pytest.mark.parametrize("name", RECIPES)
def test_a_forged_run_is_refused(made: Path, home: Path, name: str) -> None:
    change, expected = RECIPES[name]
    forger = Forger(made / "recipe")
    change(forger)
    refused(forger.seal(home / "forged"), expected)


def look_left_out(forger: Forger) -> None:
    del forger.epochs()[1]["within"][0]


def whole_epochs_only(forger: Forger) -> None:
    for block in forger.epochs():
        block["within"] = []


def look_elsewhere(forger: Forger) -> None:
    forger.epochs()[0]["within"][1]["step"] += 1


def earlier_look(forger: Forger) -> None:
    forger.epochs()[1]["within"][0]["seconds"] *= 0.5


def look_of_another_epoch(forger: Forger) -> None:
    forger.epochs()[1]["within"][0]["epoch"] = 1


def looked_more_often(forger: Forger) -> None:
    forger.plan["evaluate_every"] = 1


# the train split has 1079 examples: 5 steps of 256
LOOKS: dict[str, tuple[Change, str]] = {
    "left out": (look_left_out, "after the steps [9], and planned are [7, 9]"),
    "whole epochs only": (whole_epochs_only, "the steps [], and planned are [2, 4]"),
    "elsewhere": (look_elsewhere, "after the steps [2, 5], and planned are [2, 4]"),
    "earlier": (earlier_look, "s, and the steps until then took"),
    "another epoch": (look_of_another_epoch, "in epoch 1, and it is one of epoch 2"),
    "more often": (looked_more_often, "[2, 4], and planned are [1, 2, 3, 4]"),
}


@pytest.fixture(scope="module")
def finer(made: Path) -> Path:
    """A run that evaluates within epochs."""
    recipe = load_recipe(made / "small.py").with_settings({"evaluate_every": 2})
    return run(recipe, made / "finer", seeds=2).bundle


def test_an_honest_run_with_looks_within_epochs_verifies(finer: Path) -> None:
    found = verify(finer)
    assert found.ok, found.problems
    assert found.remarks == ()


@pytest.mark.parametrize("name", LOOKS)
def test_forged_looks_within_epochs_are_refused(
    finer: Path, home: Path, name: str
) -> None:
    change, expected = LOOKS[name]
    forger = Forger(finer)
    change(forger)
    refused(forger.seal(home / "forged"), expected)


def faster(forger: Forger) -> None:
    """A third of every time; what the clocks say is forgotten."""
    for block in forger.blocks:
        block["ns"] = [[max(1, ns // 3) for ns in times] for times in block["ns"]]


def every_other_process(forger: Forger) -> None:
    forger.blocks = [block for block in forger.blocks if block["process"] != 1]


def last_process_lost(forger: Forger) -> None:
    forger.blocks = [block for block in forger.blocks if block["process"] != 2]


def processes_renumbered(forger: Forger) -> None:
    """The second process is gone, and the third is called the second."""
    every_other_process(forger)
    forger.plan["processes"] = 2
    for block in forger.blocks:
        block["process"] = min(block["process"], 1)


def swapped(forger: Forger) -> None:
    """The candidates are exchanged: the slow one is the fast one."""
    for block in forger.blocks:
        block["orders"] = [[1 - entry for entry in order] for order in block["orders"]]


def same_layout(forger: Forger) -> None:
    for block in forger.blocks:
        block["layout"] = forger.blocks[0]["layout"]


def spans_overlap(forger: Forger) -> None:
    forger.blocks[1]["span_s"][0] = 0.0


def spans_too_short(forger: Forger) -> None:
    begin = forger.blocks[0]["span_s"][0]
    forger.blocks[0]["ns"][0][0] += 10**10
    forger.blocks[0]["clocks"]["timed_ns"] += 10**10
    forger.blocks[0]["clocks"]["spent_ns"] += 10**10
    forger.blocks[0]["clocks"]["wall_ns"] += 10**10
    assert forger.blocks[0]["span_s"][0] == begin


def an_hour(forger: Forger) -> None:
    """The last block claims to end an hour after the bundle was finished."""
    forger.blocks[-1]["span_s"][1] += 3600


def impossible_calls(forger: Forger) -> None:
    for block in forger.blocks:
        block["calls"] = [calls * 10**7 for calls in block["calls"]]


BENCHES: dict[str, tuple[Change, str]] = {
    "ns / 3": (faster, "ns were timed, and its samples add up to"),
    "processes 0 and 2": (every_other_process, "the processes are [0, 2]"),
    "a process less": (last_process_lost, "2 processes, and planned are 3"),
    "renumbered": (processes_renumbered, "draws"),
    "swapped": (swapped, "draws"),
    "another seed": (set_in(1, "seed"), "the seed 1 draws"),
    "layout": (same_layout, "the layout of block"),
    "overlap": (spans_overlap, "block 1 begins at 0 s, and the one before ends at"),
    "longer than its span": (spans_too_short, "block 0 timed"),
    "an hour": (an_hour, "s passed until it was finished"),
    "calls": (impossible_calls, "no call takes less than 0.05 ns"),
    "dates": (finished_before_created, "lies before created"),
}


@pytest.mark.parametrize("name", BENCHES)
def test_a_forged_benchmark_is_refused(made: Path, home: Path, name: str) -> None:
    change, expected = BENCHES[name]
    forger = Forger(made / "bench")
    change(forger)
    refused(forger.seal(home / "forged"), expected)


def rounds(count: int, times: list[int]) -> dict[str, Any]:
    """A block of one candidate of this process, with these nanoseconds in turn."""
    ns = [[times[i % len(times)]] for i in range(count)]
    return {"process": 0, "calls": [1], "orders": [[0]] * count, "ns": ns}


def measured(*blocks: dict[str, Any], processes: int | None = 1) -> list[str]:
    """What the stopping rule says of a plan for one process with these blocks."""
    plan = check_plan(make_plan({"a": "pass"}, processes=processes, seed=0).to_json())
    return list(stopping(plan, check_blocks(plan, blocks)))


def test_a_run_that_goes_on_after_all_is_settled_is_refused() -> None:
    steady = [10_000 + i % 7 for i in range(50)]
    assert measured(rounds(50, steady)) == []
    [said] = measured(rounds(50, steady), rounds(25, steady))
    assert said.endswith("settled after 50 rounds, and there are 75")
    noisy = [10_000 * (1 + i % 5) for i in range(50)]
    assert measured(rounds(50, noisy), rounds(25, noisy)) == []


def test_processes_after_a_look_that_settled_all_are_refused() -> None:
    steady = [10_000 + i % 7 for i in range(50)]
    blocks = [rounds(60, steady) | {"process": number} for number in range(8)]
    assert measured(*blocks[:6], processes=None) == []
    [said] = measured(*blocks, processes=None)
    assert said.endswith("settled after 6 processes, and there are 8")
    assert measured(*blocks, processes=8) == [], "the plan asked for eight"


def test_the_rule_is_replayed_for_bundles_of_this_very_source(
    made: Path, home: Path
) -> None:
    """Statistics of another version may settle at another look: then nothing is claimed."""
    forger = Forger(made / "bench")
    forger.plan["processes"] = None
    forger.plan["precision"] = 1e8
    forger.plan["margin"] = 1e8
    template = forger.blocks[-1]
    measuring = make_plan({"a": "pass", "b": "pass"}, seed=forger.plan["seed"])
    forger.blocks = []
    for process in range(8):
        layout = measuring.layout(process).to_json()
        order = next(measuring.orders(process))
        block = template | {"process": process, "orders": [order], "layout": layout}
        for name in ("clocks", "span_s", "load"):
            block.pop(name, None)
        block["ns"] = [[10**6 + process] * 4]
        forger.blocks += [block]
    refused(forger.seal(home / "this"), "settled after 6 processes, and there are 8")
    facts = forger.environment["classes"]["benchmark input and software"]
    facts["source of deep500"]["value"] = "0" * 64
    found = verify(forger.seal(home / "another"))
    assert found.ok, found.problems


class Stop(Event):
    """Ends the process after some epochs, as Ctrl-C does."""

    def __init__(self, epochs: int):
        self.epochs = epochs

    def after_epoch(self, trainer: Any, record: Any) -> None:
        self.epochs -= 1
        if not self.epochs:
            raise KeyboardInterrupt


def test_interrupted_and_resumed_runs_verify(made: Path, home: Path) -> None:
    recipe = load_recipe(made / "small.py")
    for epochs in (2, 3):
        with pytest.raises(KeyboardInterrupt):
            run(recipe, home / "run", seeds=3, resume=True, events=[Stop(epochs)])
        found = verify(home / "run")
        assert found.ok and not found.finished, found.problems
    run(recipe, home / "run", seeds=3, resume=True)
    found = verify(home / "run")
    assert found.ok and found.finished, found.problems
    forger = Forger(home / "run")
    resumed = next(block for block in forger.blocks if "resumed" in block)
    resumed["resumed"]["at"] = "2020-01-01T00:00:00+00:00"
    refused(forger.seal(home / "forged"), "a resumption at 2020-01-01T00:00:00+00:00")


def test_a_run_of_several_ranks_and_a_smaller_tier_verify(
    made: Path, home: Path
) -> None:
    recipe = load_recipe(made / "small.py")
    several = recipe.with_settings({"ranks": 2, "transport": "virtual"})
    run(several, home / "ranks", seeds=2)
    run(recipe, home / "tiny", tier="tiny")
    other = recipe.with_settings({"epochs": 2}, division="open")
    run(other, home / "open", seeds=1)
    for name in ("ranks", "tiny", "open"):
        found = verify(home / name)
        assert found.ok, found.problems


def test_a_result_that_is_saved_after_it_was_measured_verifies(home: Path) -> None:
    result = measure.run({"a": lambda: sum(range(99))}, budget_s=0.2)
    found = verify(result.save(home / "saved"))
    assert found.ok, found.problems


def test_every_bundle_of_the_version_before_verifies() -> None:
    bundles = sorted(BEFORE.glob("*.zip"))
    assert len(bundles) >= 3
    for path in bundles:
        found = verify(path)
        assert found.ok, (path, found.problems)


def test_a_seed_that_is_left_out_is_marked(made: Path, home: Path, capsys: Any) -> None:
    forger = Forger(made / "recipe")
    forger.drop_seed(2)
    folder = forger.seal(home / "forged")
    assert cli.main(["verify", str(folder)]) == 0
    assert (
        "mark: the seeds are 0, 1, 3: `d5 run` trains 0 to 2" in capsys.readouterr().out
    )


def test_a_date_in_the_future_is_marked(made: Path, home: Path) -> None:
    forger = Forger(made / "bench")
    forger.finished = later(forger.finished, 86400 * 400)
    [mark] = verify(forger.seal(home / "forged")).remarks
    assert mark.startswith("it is dated 2") and "and the clock here says" in mark


def test_the_ledger_knows_a_run_that_was_sealed_again_elsewhere(
    made: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recipe's plan is completed after its run was begun: the ledger has the hash of the complete one."""
    monkeypatch.setenv("DEEP500_HOME", str(made / "home"))
    assert verify(made / "recipe").ledger.word == "agrees"
    better = Forger(made / "recipe")
    better.end(0)["test"]["accuracy"] = 99.0
    found = verify(better.seal(home / "elsewhere"))
    assert not found.ok and found.ledger.word == "differs"
    assert "resealed after that, or replaced" in found.problems[-1]
    fewer = Forger(made / "recipe")
    fewer.drop_seed(3)
    told = verify(fewer.seal(home / "another plan")).ledger
    assert (
        told.word == "unknown" and "of the same kind was going on here" in told.sentence
    )
