"""`d5 reproduce`: three answers about a bundle, and what it refuses."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500 import bundle
from deep500.bundle.records.loading import load, record_of
from deep500.bundle.records.verification import verify
from deep500.check.networks.determinism import unstable_operators
from deep500.cli import main
from deep500.contracts.metric_summary import MetricSummary
from deep500.errors import UNDECIDED, Deep500Error
from deep500.reports.terminal import terminal
from deep500.rerun.recipe_files import load_recipe
from deep500.rerun.recipe_runner import run
from deep500.rerun.reproduction import reproduce
from deep500.results.reproductions.blocks import (
    OriginalRun,
    SecondRun,
    second_run,
    seed_blocks,
)
from deep500.results.reproductions.numbers import TimeAgain
from deep500.results.reproductions.time_answers import time_answer
from deep500.schema import decoded, encoded
from tests.training.recipe_documents import summary

from .evidence.forging import Forger

RECIPE = '''
import numpy as np

import deep500 as d5

SCALE = 1.0


class Line(d5.Dataset):
    """A line with noise."""

    slope: float = 2.0

    def load(self):
        rng = np.random.default_rng(0)
        x = rng.standard_normal((120, 3)).astype(np.float32)
        y = (self.slope * x.sum(axis=1, keepdims=True)).astype(np.float32)
        parts = {"train": slice(0, 60), "validation": slice(60, 90), "test": slice(90, 120)}
        return {name: d5.Split({"x": x[rows], "target": y[rows]}) for name, rows in parts.items()}


class Straight(d5.Model):
    def build(self, shape, outputs, seed=0):
        network = d5.Network("straight")
        network.add_input("x", (0, *shape))
        rng = np.random.default_rng(seed)
        weights = (SCALE * rng.standard_normal((*shape, outputs))).astype(np.float32)
        network.add_param("w", weights)
        network.add_output(network.add_node("MatMul", ["x", "w"], ["prediction"]))
        return network


FIXED = {"model": "Straight", "dataset": "Line", "task": "regression", "epochs": 12}
MUTABLE = {"batch_size": 16, "executor": "reference", "optimizer": d5.optimizers.SGD(0.1)}
METRICS = [(d5.FinalQuality("R2"), 0.9), (d5.Throughput(), None)]
CLAIMS = [d5.FinalQuality("R2") >= 0.9, d5.Throughput() >= 1e-3]
'''
NOISY = (
    RECIPE.replace(
        "class Straight",
        '''class Jitter(d5.Operator):
    """Noise that no seed decides."""

    def forward(self, xp, x):
        return x * (1 + 1e-5 * float(np.random.default_rng().standard_normal()))

    def backward(self, xp, dy):
        return dy


class Straight''',
    )
    .replace(
        '"MatMul", ["x", "w"], ["prediction"]', 'Jitter(), ["product"], ["prediction"]'
    )
    .replace(
        "        network.add_output",
        '        network.add_node("MatMul", ["x", "w"], ["product"])\n        network.add_output',
    )
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    return tmp_path


def written(folder: Path, text: str = RECIPE) -> Path:
    path = folder / "line.py"
    path.write_text(text)
    return path


@pytest.fixture
def made(home: Path) -> Path:
    return run(load_recipe(written(home)), home / "run", seeds=3).bundle


def test_the_same_machine_gives_the_same_bits(
    made: Path, home: Path, capsys: Any
) -> None:
    code = main(
        ["reproduce", str(made), "--recipe", str(home / "line.py"), "--out", "again"]
    )
    text = capsys.readouterr().out
    assert code == 0, text
    assert "reproduced yes (all 3 seeds gave the same losses and weights" in text
    assert verify("again").ok and verify("again.run").ok
    assert main(["show", "again", "--json"]) == 0
    answers = json.loads(capsys.readouterr().out)
    assert answers["kind"] == "reproduction"
    verdicts = [row["verdict"] for row in answers["replicated"]["rows"]]
    assert verdicts == ["yes"] * 5 and answers["replicated"]["verdict"] == "yes"
    assert answers["times"][0]["ratio"] > 0
    assert 0.8 < answers["interpretable"]["score"] <= 1


@pytest.fixture(autouse=True)
def in_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)


def test_an_operator_that_draws_by_itself_is_named(home: Path) -> None:
    bundle_folder = run(load_recipe(written(home, NOISY)), home / "run", seeds=3).bundle
    record = reproduce(bundle_folder, home / "line.py", home / "again")
    answers: Any = record.derived
    assert answers.reproduced.verdict == "no" and answers.reproduced.same == 0
    assert "the loss of seed 0 differs from step" in answers.reproduced.text
    # the noise changes bits, and no claim
    assert answers.replicated.verdict == "yes"
    again = second_run(record.blocks)
    assert again and "Jitter" in str(again.unstable)
    assert "do not give the same bits twice here: Jitter" in terminal(record.report())


def test_a_stable_network_has_no_unstable_operator() -> None:
    network = d5.networks.Mlp((4,)).build((3,), 2, seed=0)
    batch: dict[str, np.ndarray] = {
        "x": np.random.default_rng(0).standard_normal((8, 3)).astype(np.float32),
        "label": np.arange(8) % 2,
    }
    assert unstable_operators(d5.framework("reference"), network, batch) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("SGD(0.1)", "SGD(0.06)", r"MUTABLE\['optimizer'\] is .*0.06.*and was .*0.1"),
        ('"epochs": 12', '"epochs": 4', r"FIXED\['epochs'\] is 4, and was 12"),
        ("SCALE = 1.0", "SCALE = 2.0", "the SHA-256 of its file is"),
        (
            "rng.standard_normal((*shape",
            "2 * rng.standard_normal((*shape",
            "with another source",
        ),
        ('R2"), 0.9)', 'R2"), 0.8)', "METRICS differ"),
        ("1e-3]", "1e-4]", "CLAIMS differ"),
    ],
)
def test_another_recipe_is_refused_with_what_differs(
    made: Path, home: Path, old: str, new: str, said: str
) -> None:
    path = written(home, RECIPE.replace(old, new))
    with pytest.raises(Deep500Error, match=said) as caught:
        reproduce(made, path, home / "again")
    assert "\n" not in str(caught.value) and not (home / "again").exists()


def test_a_change_that_is_allowed_is_recorded_and_found(made: Path, home: Path) -> None:
    path = written(home, RECIPE.replace("SCALE = 1.0", "SCALE = 1e6"))
    record = reproduce(made, path, home / "again", allow_changes=True)
    answers: Any = record.derived
    assert record.plan.changes and answers.reproduced.verdict == "no"
    # starting far away, it does not arrive
    assert answers.replicated.verdict == "no"
    assert record.kind.exit_code(record) == 1
    assert "The recipe differs here" in terminal(record.report())


def test_without_a_file_nothing_of_a_user_is_run(made: Path, home: Path) -> None:
    with pytest.raises(
        Deep500Error, match="the recipe 'line' is none of ours: give its file"
    ):
        reproduce(made)


def test_other_data_are_refused(made: Path, home: Path) -> None:
    path = written(home, RECIPE.replace("default_rng(0)", "default_rng(1)"))
    with pytest.raises(
        Deep500Error, match="the data of recipe line are not those of the original"
    ):
        reproduce(made, path, home / "again", allow_changes=True)
    assert not (home / "again").exists()


def test_a_forged_bundle_and_another_kind_are_refused(
    made: Path, home: Path, capsys: Any
) -> None:
    forged = home / "forged"
    shutil.copytree(made, forged)
    (forged / "weights-0.safetensors").write_bytes(b"others")
    with pytest.raises(Deep500Error, match="does not verify"):
        reproduce(forged, home / "line.py")
    record = reproduce(made, home / "line.py", home / "again")
    with pytest.raises(
        Deep500Error, match="only the run of a recipe can be reproduced"
    ):
        reproduce(str(record.bundle))


def test_a_script_of_our_definitions_needs_no_file(home: Path) -> None:
    fixed = {"model": "mlp", "dataset": "synthetic_images", "epochs": 2}
    mutable = {
        "batch_size": 64,
        "executor": "reference",
        "optimizer": d5.optimizers.Momentum,
        "optimizer_args": (0.1, 0.9),
    }
    metrics = [(d5.TestAccuracy(), None), (d5.FinalLoss(), None)]
    claims = [d5.FinalLoss() <= 100.0]
    made = d5.run_recipe(
        fixed, mutable, metrics, folder=home / "run", seeds=3, claims=claims
    )
    record = reproduce(made.bundle, folder=home / "again")
    assert record.derived and record.derived.reproduced.verdict == "yes"


def test_a_forged_answer_is_noticed(made: Path, home: Path) -> None:
    record = reproduce(made, home / "line.py", home / "again")
    found = bundle.read(str(record.bundle))
    documents: Any = json.loads(json.dumps(found.documents))
    documents["derived.json"]["reproduced"]["verdict"] = "no"
    begun = {name: documents[name] for name in ("plan.json", "environment.json")}
    writer = bundle.create(home / "forged", begun, kind="reproduction")
    for block in found.blocks:
        writer.append(block)
    writer.finish({"derived.json": documents["derived.json"]})
    assert any("reproduced" in problem for problem in verify(home / "forged").problems)


@pytest.mark.parametrize(
    "key", ["seeds", "metrics", "claims", "environment", "same_machine"]
)
def test_blocks_of_files_from_anyone(made: Path, home: Path, key: str) -> None:
    record = reproduce(made, home / "line.py", home / "again")
    blocks = json.loads(json.dumps(encoded(list(record.blocks))))
    blocks[-1][key] = [{"claim": 5}]
    with pytest.raises(Deep500Error):
        record.kind.check_blocks(record.plan, blocks)
    assert load(str(record.bundle)).verified


COUNTED = """
import deep500 as d5

FIXED = {"model": "mlp", "dataset": "digits", "epochs": 3}
MUTABLE = {"batch_size": 256, "executor": "reference", "optimizer": d5.optimizers.SGD(0.1)}
METRICS = [(d5.TestAccuracy(), None), (d5.TimeToAccuracy(99.9), None), (d5.Throughput(), None)]
"""


@pytest.fixture
def counted(home: Path) -> Forger:
    """A run of four seeds, ready to be forged."""
    path = written(home, COUNTED)
    return Forger(run(load_recipe(path), home / "honest", seeds=4).bundle)


def again(forger: Forger, home: Path, capsys: Any) -> tuple[int, str]:
    """The exit code of `d5 reproduce` for a forged bundle, and what it prints."""
    folder = forger.seal(home / "forged")
    words = ["reproduce", str(folder), "--recipe", str(home / "line.py")]
    code = main([*words, "--out", str(home / "again")])
    return code, capsys.readouterr().out


def test_the_recorded_seeds_are_trained_again(
    counted: Forger, home: Path, capsys: Any
) -> None:
    counted.drop_seed(2)
    code, text = again(counted, home, capsys)
    assert code == 0, text
    assert "all 3 seeds gave the same losses and weights" in text
    assert bundle.read(home / "again.run").documents["plan.json"]["seeds"] == [0, 1, 3]  # type: ignore[index]


def test_renumbered_seeds_do_not_come_out_again(
    counted: Forger, home: Path, capsys: Any
) -> None:
    counted.drop_seed(0)
    counted.renumber()
    code, text = again(counted, home, capsys)
    assert code == 1, text
    assert "0 of 3 seeds gave the same bits" in text
    assert "although machine, versions and settings are the same" in text


def test_a_forged_evaluation_of_any_epoch_is_found(
    counted: Forger, home: Path, capsys: Any
) -> None:
    """An epoch that replay does not see, and with it a time to accuracy that never was."""
    for block in counted.epochs():
        if block["evaluation"]["epoch"] == 1:
            block["evaluation"]["validation"]["accuracy"] = 100.0
    code, text = again(counted, home, capsys)
    assert code == 1, text
    rows = json.dumps(bundle.read(home / "again").documents["derived.json"])
    assert "seed 0 differs from epoch 1 on, and its losses and weights do not" in rows
    assert "the original has" in rows and "and here there is none" in rows


def test_impossible_times_are_found(counted: Forger, home: Path, capsys: Any) -> None:
    """A careful forger: every time is a thousandth or less, in whole nanoseconds, wherever it is told."""
    longer = run(load_recipe(home / "line.py"), home / "longer", seeds=6).bundle
    forger = Forger(longer)
    forger.shortest_times()
    problems = record_of(bundle.read(forger.seal(home / "passes"))).problems
    assert problems == (), "nothing in the bundle can tell"
    code, text = again(forger, home, capsys)
    assert code == 1, text
    assert "not again: throughput" in text


def test_four_seeds_leave_impossible_times_undecided(
    counted: Forger, home: Path, capsys: Any
) -> None:
    """The bits are the same, so that only the times are in doubt: that is no exit code 0."""
    counted.shortest_times()
    code, text = again(counted, home, capsys)
    assert code == UNDECIDED, text
    assert "not decided: throughput" in text
    assert "the ranks of 4 seeds do not decide" in " ".join(text.split())


def time_metric(values: list[float | None]) -> MetricSummary:
    known = sorted(value for value in values if value is not None)
    median = known[len(known) // 2] if known else None
    return summary(
        values, name="T", unit="s", kind="cost", better="lower", median=median
    )


def answered(
    before: MetricSummary, again: MetricSummary, original: object, here: object
) -> TimeAgain:
    """What is said of a time that these runs took, under these conditions."""
    seeds = list(range(before.n))
    common = {"bundle": "", "hash": "x", "seeds": seeds, "metrics": [], "claims": []}
    about = {"name": "r", "recipe_hash": "x", "documentation": []}
    first = decoded(OriginalRun, common | about | with_load(original), "it")
    facts: dict[str, object] = {"environment": [], "unstable": []}
    facts |= {"same_machine": True, "same_setup": True}
    second = decoded(SecondRun, common | facts | with_load(here), "it")
    return time_answer(first, second, before, again, 0.95)


def with_load(conditions: object) -> dict[str, object]:
    return {"conditions": conditions} if conditions else {}


def test_one_seed_far_off_among_three_decides_nothing() -> None:
    """Student's t would have given an interval of this: from 1 to a third in the middle, and it decides by chance."""
    metric, other = time_metric([1.0, 1.1, 1.0]), time_metric([0.5, 0.5, 0.51])
    answer = answered(metric, other, QUIET, QUIET)
    assert answer.verdict == "not decided" and answer.low is None
    assert answer.ratio == pytest.approx(0.5)
    assert "the ranks of 3 seeds do not decide" in answer.reason


QUIET = {"others": 0.0, "stretch": 1.0, "threads": 1}
BUSY = {"others": 0.9, "stretch": 3.0, "threads": 1}


@pytest.mark.parametrize(
    ("count", "factor", "original", "here", "verdict"),
    [
        (6, 1.0, QUIET, QUIET, "yes"),
        (6, 2.0, QUIET, QUIET, "no"),
        (6, 0.5, QUIET, QUIET, "no"),
        (6, 2.0, QUIET, BUSY, "not judged"),
        (6, 20.0, QUIET, BUSY, "no"),
        (6, 2.0, BUSY | {"threads": 2}, QUIET, "not judged"),
        (6, 100.0, None, QUIET, "not judged"),
        # ranks of few seeds decide that they differ, and never that they do not
        (4, 1.0, QUIET, QUIET, "not judged"),
        (5, 0.5, QUIET, QUIET, "no"),
        (4, 0.5, QUIET, QUIET, "not decided"),
        (3, 1.0, QUIET, QUIET, "not judged"),
        (3, 0.5, QUIET, QUIET, "not decided"),
        (1, 2.0, QUIET, QUIET, "not decided"),
    ],
)
def test_a_time_differs_if_neither_its_interval_nor_the_load_explains_it(
    count: int, factor: float, original: Any, here: Any, verdict: str
) -> None:
    values = [1.0, 1.01, 0.99, 1.02, 1.03, 0.98][:count]
    metric = time_metric([*values])
    other = time_metric([factor * value for value in values])
    answer = answered(metric, other, original, here)
    assert answer.verdict == verdict, answer
    lost = answered(metric, time_metric([None] * count), original, here)
    assert lost.verdict == "no"


MINE = """
from deep500 import Optimizer


class Mine(Optimizer):
    learning_rate: float = 0.1

    def update(self, xp, param, grad, state, step):
        return param - self.learning_rate * grad, {}
"""


def brief(home: Path, *options: str) -> Path:
    """A bundle of a recipe of ours, with options."""
    words = ["run", "digits_logistic", "--tier", "tiny", "--seeds", "2"]
    code = main([*words, "--framework", "reference", *options, "--out", "brief"])
    assert code in (0, 1)
    return home / "brief"


@pytest.mark.parametrize(
    ("options", "again"),
    [
        (["--optimizer", "mine.py:Mine(0.05)"], ["--optimizer", "mine.py:Mine(0.05)"]),
        (["--optimizer", "mine.py:Mine"], ["--optimizer", "mine.py:Mine"]),
        (["--optimizer", "mine.py:Mine | ClipByNorm(1.0)"],) * 2,
        (["--optimizer", "Adam(Cosine(0.01, 9)) | ClipByNorm(1.0)"], []),
        (["--ranks", "2", "--codec", "TopK(0.5) | QSGD(bits=4)"], []),
    ],
    ids=["settings", "class", "own chain", "our chain", "codecs"],
)
def test_what_an_option_brought_is_run_again(
    home: Path, capsys: Any, options: list[str], again: list[str]
) -> None:
    (home / "mine.py").write_text(MINE)
    made = brief(home, *options)
    capsys.readouterr()
    code = main(["reproduce", str(made), *again, "--out", "again"])
    said = capsys.readouterr()
    assert "reproduced yes (all 2 seeds" in said.out, said.err
    assert code == 0


@pytest.mark.parametrize(
    ("again", "said"),
    [
        ([], "again: --optimizer FILE:Mine"),
        (["--optimizer", "Adam(0.1)"], "again: --optimizer FILE:Mine"),
        (["--optimizer", "other.py:Mine"], "is Mine with another source"),
        (["--optimizer", "mine.py:Nine"], "Did you mean 'Mine'"),
    ],
)
def test_another_optimizer_than_the_recorded_one_is_refused(
    home: Path, capsys: Any, again: list[str], said: str
) -> None:
    (home / "mine.py").write_text(MINE)
    (home / "other.py").write_text(MINE.replace("- self", "+ self"))
    made = brief(home, "--optimizer", "mine.py:Mine")
    assert main(["reproduce", str(made), *again, "--out", "again"]) == 2
    assert said in capsys.readouterr().err.strip().splitlines()[-1]


def test_seeds_with_a_gap_are_trained_again(home: Path) -> None:
    seeds = [0, 1, 4]
    made = run(load_recipe(written(home)), home / "run", seeds=seeds).bundle
    record = reproduce(made, home / "line.py", home / "again")
    assert [block.seed for block in seed_blocks(record.blocks)] == seeds
    assert record.derived.reproduced.verdict == "yes"
    assert verify(home / "again.run").ok
