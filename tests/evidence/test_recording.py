"""One way to record: a line in the ledger, a bundle, numbers derived once, however the run ends."""

import json
from collections import Counter
from pathlib import Path

import pytest

from deep500 import bundle, cli
from deep500.bundle import reading, writing
from deep500.bundle.records import loading, recording
from deep500.bundle.records.ledger import Ledger
from deep500.bundle.records.verification import verify
from deep500.errors import Deep500Error, Wrong
from deep500.frameworks import framework
from deep500.measure import results as measure_results
from deep500.rerun.recipe_files import load_recipe
from deep500.rerun.recipe_runner import run
from deep500.supervision.own_process import Terminated
from deep500.training import outcome as training
from deep500.training.events import Event

RECIPE = Path(__file__).parents[2] / "recipes" / "digits_mlp.py"
PLAN = {
    "operator": "Relu",
    "frameworks": ["x"],
    "dtypes": [],
    "seed": 0,
    "attributes": {},
}
ORIGINAL_READ = reading.read
BLOCK = {"operator": "Relu", "framework": "x", "kernel": "native", "checks": []}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def calls(monkeypatch):
    """How often bundles are read and numbers are derived in this process."""
    counts: Counter[str] = Counter()

    def counted(name, function):
        def call(*args, **kwargs):
            counts[name] += 1
            return function(*args, **kwargs)

        return call

    for module in (bundle, reading, writing, loading):
        monkeypatch.setattr(module, "read", counted("read", ORIGINAL_READ))
    monkeypatch.setattr(training, "outcome", counted("derive", training.outcome))
    monkeypatch.setattr(
        measure_results, "derive", counted("derive", measure_results.derive)
    )
    return counts


def test_a_run_of_a_recipe_derives_once_and_reads_nothing_back(calls, tmp_path, capsys):
    tiny = [
        "--tier",
        "tiny",
        "--framework",
        "reference",
        "--out",
        str(tmp_path / "run"),
        "--json",
    ]
    assert cli.main(["run", str(RECIPE), *tiny]) in (0, 1)
    assert calls == {"derive": 1}
    assert json.loads(capsys.readouterr().out)["bundle"] == str(tmp_path / "run")
    calls.clear()
    assert cli.main(["show", str(tmp_path / "run")]) == 0
    assert calls == {"read": 1, "derive": 1}


class Stop(Event):
    """Interrupts the training after its first epoch was recorded."""

    def after_epoch(self, trainer, record):
        if record["epoch"] == 2:
            raise KeyboardInterrupt


def test_a_resumed_run_reads_its_bundle_once(calls, tmp_path):
    recipe = load_recipe(RECIPE).with_settings(
        {"executor": framework("reference").from_model}
    )
    with pytest.raises(KeyboardInterrupt):
        run(recipe, tmp_path / "run", "tiny", events=[Stop()])
    assert calls == {} and not verify(tmp_path / "run").finished
    calls.clear()
    how = ["--tier", "tiny", "--framework", "reference", "--out", str(tmp_path / "run")]
    assert cli.main(["run", str(RECIPE), *how, "--resume"]) in (0, 1)
    assert calls == {"read": 1, "derive": 1}
    assert [run.state for run in Ledger().runs()] == ["finished", "interrupted"]


def test_a_benchmark_derives_once_and_reads_nothing_back(calls, tmp_path):
    options = ["--budget", "0.5", "--out", str(tmp_path / "run"), "--report"]
    assert cli.main(["bench", "sum(range(100))", *options]) == 0
    assert calls == {"derive": 1}
    calls.clear()
    assert verify(tmp_path / "run").ok
    assert calls["derive"] == 1


def test_the_count_sees_a_second_look(calls, tmp_path):
    with recording.recording("check", PLAN, tmp_path / "run") as record:
        record.append(BLOCK)
        record.finish()
    assert calls == {}
    loading.load(tmp_path / "run")
    loading.load(tmp_path / "run")
    assert calls == {"read": 2}


def test_what_was_recorded_is_what_anyone_reads(tmp_path):
    with recording.recording(
        "check", PLAN | {"inputs": (1, 2)}, tmp_path / "run"
    ) as record:
        record.append(BLOCK)
        fresh = record.finish()
    read = loading.load(tmp_path / "run")
    assert fresh == read
    assert fresh.plan.more["inputs"] == [1, 2]


def test_a_folder_is_made_at_home_and_the_ledger_knows_it(home):
    for _ in range(2):  # in one second
        with recording.recording("check", PLAN) as record:
            record.append(BLOCK)
            record.finish()
    runs = Ledger().runs()
    assert [run.state for run in runs] == ["finished", "finished"]
    assert [run.kind for run in runs] == ["check", "check"]
    assert all(Path(run.folder).parent == home / "runs" for run in runs)


@pytest.mark.parametrize(
    ("error", "state", "detail"),
    [
        (ValueError("no\nway"), "failed", "no way"),
        (KeyboardInterrupt(), "interrupted", "Ctrl-C"),
        (Terminated(15), "interrupted", "ended by SIGTERM"),
    ],
)
def test_a_run_that_fails_keeps_its_blocks_and_is_noted(tmp_path, error, state, detail):
    with (
        pytest.raises(type(error)),
        recording.recording("check", PLAN, tmp_path / "run") as record,
    ):
        record.append(BLOCK)
        raise error
    [run] = Ledger().runs()
    assert (run.state, run.detail) == (state, detail)
    found = verify(tmp_path / "run")
    assert found.ok and not found.finished and found.blocks == 1


@pytest.mark.parametrize("blocks", [0, 1])
def test_what_means_nothing_leaves_nothing_behind(tmp_path, blocks):
    with (
        pytest.raises(Wrong),
        recording.recording("check", PLAN, tmp_path / "run") as record,
    ):
        for _ in range(blocks):
            record.append(BLOCK)
        raise Wrong("wrong results")
    assert not (tmp_path / "run").exists()
    assert Ledger().runs()[0].state == "failed"


def test_forgetting_to_finish_is_an_error(tmp_path):
    refused = pytest.raises(Deep500Error, match="nothing was finished")
    with refused, recording.recording("check", PLAN, tmp_path / "run"):
        pass
    assert not (tmp_path / "run").exists()


def test_what_prepare_refuses_is_noted_and_nothing_is_written(tmp_path):
    def refuse():
        raise Deep500Error("it cannot be trained")

    refused = pytest.raises(Deep500Error, match="cannot be trained")
    with refused, recording.recording("check", PLAN, tmp_path / "run", prepare=refuse):
        raise AssertionError("never reached")
    assert not (tmp_path / "run").exists()
    assert Ledger().runs()[0].detail == "it cannot be trained"


def test_a_plan_of_another_form_and_an_unknown_kind_are_refused(tmp_path):
    with (
        pytest.raises(Deep500Error, match="/frameworks is missing"),
        recording.recording("check", {}, tmp_path / "run"),
    ):
        raise AssertionError("never reached")
    unknown = pytest.raises(Deep500Error, match="'novel' is not known")
    with unknown, recording.recording("novel", {}, tmp_path / "run"):
        raise AssertionError("never reached")


def test_the_last_measurement_is_found_and_not_the_last_diagnosis(tmp_path, capsys):
    with pytest.raises(Deep500Error, match="no run yet"):
        recording.find_bundle()
    with recording.recording("check", PLAN, tmp_path / "run") as record:
        record.append(BLOCK)
        record.finish()
    recording.recorded_diagnosis(0.5, tmp_path / "machine")
    assert Ledger().runs()[0].kind == "doctor"
    assert recording.find_bundle() == tmp_path / "run"
    assert recording.find_bundle(Ledger().runs()[0].run) == tmp_path / "machine"
    assert cli.main(["show"]) == 0
    assert "Relu" in capsys.readouterr().out


def test_a_control_is_known_whatever_the_order_of_the_factors(tmp_path, capsys):
    factors = ["--factor", "n=1,2", "--factor", "a=1,2"]  # a bundle sorts them: a, n
    out = [
        "--budget",
        "0.6",
        "--processes",
        "3",
        "--out",
        str(tmp_path / "run"),
        "--json",
    ]
    assert (
        cli.main(["bench", "n + a", "--name", "sum", *factors, "--control", *out]) == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert found["control"]["base"] == "sum n=1 a=1" and found["comparisons"] == []
    assert verify(tmp_path / "run").ok
