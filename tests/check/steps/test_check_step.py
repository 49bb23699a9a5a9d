"""d5 check step finds every classical bug of a training step, and accuses no honest one."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import deep500 as d5
from deep500.check.steps.transfer import packed, unpacked
from deep500.check.steps.trees import Batch, arrays, changed

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
slow = pytest.mark.slow


def trainings(module):
    """One of the files beside this one."""
    spec = importlib.util.spec_from_file_location(module, HERE / f"{module}.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def report_on(module, name, **settings):
    subject = getattr(trainings(module), name)
    [report] = d5.check_step(subject, settings).reports
    return report


def names(checks):
    return {check.name for check in checks}


def verdicts(report):
    return {(check.name, check.verdict) for check in report.checks}


ALL = {"repeat", "accumulation", "loss", "ranks", "order", "evaluation", "resume"}


def test_an_honest_training_keeps_every_promise():
    report = report_on("numpy_training", "Training")
    assert report.ok, report.text
    assert verdicts(report) == {(name, "ok") for name in ALL}
    for check in report.checks:
        assert check.value is not None and check.bound is not None


@pytest.mark.parametrize(
    ("bug", "wrong", "text"),
    [
        # transformers#34191: parts count alike, however many tokens they have
        (
            "mean of means",
            {"accumulation", "loss", "ranks"},
            "the parts weigh 0.5, 0.5, but 0.522, 0.478 in",
        ),
        # axolotl#1100: nobody divides by the number of parts
        ("sum of means", {"accumulation", "loss", "ranks"}, "the parts weigh 1, 1, "),
        # OpenNMT-py#526: divided by 4 in a last window of fewer
        ("window", {"accumulation", "ranks"}, "the parts weigh 0.261, 0.239"),
        # transformers#35203: the loss of the last part is logged
        ("logged", {"loss"}, "step() returns"),
        ("leak", {"repeat"}, "those of earlier calls are not reset"),
        ("ddp", {"ranks"}, "the parts weigh 0.5, 0.5"),
        ("momentum", {"resume"}, "is another than without the interruption"),
        ("count", {"resume"}, "is another than without the interruption"),
        ("evaluates", {"evaluation"}, "evaluate() changes b"),
        ("place", {"order"}, "depends on its place"),
    ],
)
def test_a_planted_bug_is_found_by_its_check(bug, wrong, text):
    report = report_on("numpy_training", "Training", bug=bug)
    assert names(report.wrong) == wrong
    assert any(text in check.text for check in report.wrong)


def test_random_draws_leave_it_undecided_and_nothing_wrong():
    report = report_on("numpy_training", "Training", dropout=0.3)
    assert report.verdict == "not decided"
    assert "random numbers are drawn" in report.text


TORCH = [
    ("Tokens", {}, set()),
    ("Tokens", {"autocast": True}, set()),
    ("Normed", {}, set()),
    ("StepsOnly", {"optimizer": "Adam"}, set()),
    ("Tokens", {"bug": "mean of means"}, {"accumulation", "loss"}),
    ("Tokens", {"bug": "not reset"}, {"repeat"}),
    ("Tokens", {"bug": "clips parts"}, {"accumulation"}),
    ("Tokens", {"bug": "no optimizer"}, {"resume"}),
    ("Tokens", {"bug": "no schedule"}, {"resume"}),
    (
        "Tokens",
        {"autocast": True, "bug": "mean of means"},
        {"accumulation", "loss"},
    ),
    ("Normed", {"bug": "trains in evaluation"}, {"evaluation"}),
    ("Normed", {"bug": "stays in evaluation"}, {"evaluation"}),
    ("StepsOnly", {"bug": "mean of means"}, {"accumulation", "loss"}),
]


@pytest.mark.parametrize(("name", "settings", "wrong"), TORCH)
def test_pytorch(name, settings, wrong):
    pytest.importorskip("torch")
    report = report_on("torch_training", name, **settings)
    assert names(report.wrong) == wrong, report.text
    if not wrong:
        assert report.ok, report.text


def test_batch_norm_is_recognised():
    pytest.importorskip("torch")
    report = report_on("torch_training", "Normed")
    assert ("accumulation", "not applicable") in verdicts(report)
    assert any("depend on each other" in check.text for check in report.checks)


def test_adam_alone_decides_nothing_about_parts():
    pytest.importorskip("torch")
    report = report_on(
        "torch_training", "StepsOnly", optimizer="Adam", bug="mean of means"
    )
    assert ("accumulation", "not decided") in verdicts(report)
    assert ("accumulation", "wrong") not in verdicts(report)
    assert any("define gradients" in check.text for check in report.checks)


@slow
@pytest.mark.parametrize("module", ["torch_training", "jax_training", "keras_training"])
def test_frameworks_resume_in_a_new_process(module, tmp_path):
    pytest.importorskip(module.partition("_")[0].replace("keras", "tensorflow"))
    name = {"torch_training": "Tokens", "jax_training": "make"}.get(module, "Training")
    done = d5_check(tmp_path, f"{HERE / module}.py:{name}", "--json")
    assert done.returncode == 0, done.stdout
    [report] = json.loads(done.stdout)["reports"]
    found = {
        (check["name"], check["case"], check["verdict"]) for check in report["checks"]
    }
    assert ("resume", "new process", "ok") in found


@pytest.mark.parametrize(
    ("bug", "wrong"),
    [
        ("", set()),
        pytest.param("mean of means", {"accumulation", "loss"}, marks=slow),
        pytest.param("no velocity", {"resume"}, marks=slow),
    ],
)
def test_jax(bug, wrong):
    pytest.importorskip("jax")
    report = report_on("jax_training", "make", bug=bug)
    assert names(report.wrong) == wrong, report.text
    assert wrong or report.ok


@pytest.mark.parametrize(
    ("bug", "wrong"),
    [
        ("", set()),
        ("mean of means", {"accumulation", "loss"}),
        ("no optimizer", {"resume"}),
    ],
)
def test_keras(bug, wrong):
    pytest.importorskip("tensorflow")
    report = report_on("keras_training", "Training", bug=bug)
    assert names(report.wrong) == wrong, report.text
    assert wrong or report.ok


@pytest.mark.parametrize(
    "where",
    [
        "reference",
        *(
            pytest.param(name, marks=slow)
            for name in ("pytorch", "jax", "tensorflow", "onnxruntime")
        ),
    ],
)
@pytest.mark.parametrize("network", ["mlp", "lenet"])
def test_our_executors(where, network):
    if not d5.framework(where).available():
        pytest.skip(f"{where} is not installed")
    shape = (1, 8, 8) if network == "mlp" else (1, 28, 28)
    graph = d5.networks.create(network, outputs=10, shape=shape, seed=0)
    random = np.random.default_rng(0)
    batch = {
        "x": random.random((4, *shape), np.float32),
        "label": random.integers(0, 10, 4),
    }

    def make():
        executor = d5.framework(where).executor(graph)
        return d5.ExecutorSteps(executor, d5.optimizers.Adam(0.01), batch)

    reports = d5.check_step(make)
    assert reports.ok, reports.text
    found = verdicts(reports.reports[0])
    assert {("order", "ok"), ("evaluation", "ok"), ("resume", "ok")} <= found
    assert ("ranks", "ok") in found
    assert ("accumulation", "not applicable") in found


def test_our_recipes():
    reports = d5.check_step("digits_mlp", {"framework": "reference", "examples": 6})
    assert reports.ok, reports.text
    found = {(check.name, check.case, check.verdict) for check in reports.checks}
    assert ("resume", "new process", "ok") in found
    assert ("ranks", "3 ranks, equal", "ok") in found


def test_networks_that_draw_random_numbers_are_refused_in_one_line():
    network = d5.networks.create("alexnet", outputs=3, shape=(3, 64, 64), seed=0)
    executor = d5.framework("reference").executor(network)
    with pytest.raises(d5.Deep500Error, match="draws random numbers"):
        d5.ExecutorSteps(executor, d5.optimizers.SGD(0.1), {})


def d5_check(folder, *words):
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "DEEP500_HOME": str(folder / "home"),
    }
    return subprocess.run(
        [sys.executable, "-m", "deep500.cli", "check", "step", *words],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
        cwd=folder,
    )


def test_the_command_resumes_in_a_new_process(tmp_path):
    file = f"{HERE / 'numpy_training.py'}:Training"
    done = d5_check(tmp_path, file, "--out", "bundle", "--json")
    assert done.returncode == 0, done.stderr
    [report] = json.loads(done.stdout)["reports"]
    [resumed] = [check for check in report["checks"] if check["name"] == "resume"]
    assert resumed["case"] == "new process" and resumed["verdict"] == "ok"
    bug = d5_check(tmp_path, file, "--set", "bug=momentum", "--json")
    assert bug.returncode == 1
    assert "is another than without the interruption" in bug.stdout


def test_an_attribute_that_only_the_old_process_has_is_found(tmp_path):
    """What a module keeps outside of its state survives a new object, and not a new process."""
    source = (HERE / "numpy_training.py").read_text()
    source = source.replace("        self.count += 1\n", "        SEEN.append(1)\n")
    source = source.replace("rate = 0.1 / self.count", "rate = 0.1 / len(SEEN)")
    (tmp_path / "mine.py").write_text(source + "\nSEEN = []\n")
    done = d5_check(tmp_path, "mine.py:Training", "--json")
    assert done.returncode == 1
    [report] = json.loads(done.stdout)["reports"]
    wrong = [check for check in report["checks"] if check["verdict"] == "wrong"]
    assert {check["name"] for check in wrong} >= {"resume"}


def test_bad_input_on_the_command_line_is_one_line(tmp_path):
    done = d5_check(tmp_path, "nowhere.py:Training")
    assert done.returncode == 2
    assert "there is no file nowhere.py" in done.stderr
    assert done.stderr.count("\n") == 1


class Small:
    def batch(self):
        return np.ones((3, 2), np.float32)

    def gradients(self, micro_batches):
        return {"w": np.ones(2, np.float32)}


class Uneven(Small):
    def batch(self):
        return {"x": np.ones((4, 2)), "y": np.ones(5)}


class Renames(Small):
    count = 0

    def batch(self):
        return [np.ones(2, np.float32)] * 4

    def gradients(self, micro_batches):
        self.count += 1
        return {f"w{self.count}": np.ones(2, np.float32)}


@pytest.mark.parametrize(
    ("subject", "text"),
    [
        (object(), "has the methods batch"),
        (Small, "gives 3 examples: give 4 to 512"),
        (Uneven, r"columns of \[4, 5\] examples"),
        (lambda size: Small(), "missing 1 required positional argument: 'size'"),
        ("tests/nowhere.py:Small", "there is no file"),
        (f"{HERE}/numpy_training.py:Trainig", "Did you mean 'Training'"),
    ],
)
def test_bad_input_is_one_line(subject, text):
    with pytest.raises(d5.Deep500Error, match=text) as error:
        d5.check_step(subject)
    assert "\n" not in str(error.value)


class NotFinite(Small):
    def batch(self):
        return np.ones((4, 2), np.float32)

    def gradients(self, micro_batches):
        return {"w": np.array([1, np.nan], np.float32)}


class Forgets(NotFinite):
    """Its step returns a number for the whole batch alone."""

    def gradients(self, micro_batches):
        return {"w": np.concatenate(micro_batches).mean(0)}

    def step(self, micro_batches):
        return 1.0 if len(micro_batches) == 1 else None


def test_gradients_that_are_not_finite_are_wrong():
    [report] = d5.check_step(NotFinite).reports
    assert names(report.wrong) == {"repeat"}
    assert "is not finite" in report.text


def test_a_step_that_returns_no_number_for_parts_is_wrong():
    [report] = d5.check_step(Forgets).reports
    assert names(report.wrong) == {"loss"}
    assert "returns no number for the parts" in report.text


def test_gradients_of_changing_names_are_wrong_in_one_line():
    [report] = d5.check_step(Renames).reports
    assert "tensors of other names or shapes than at first: w1, w2" in report.text


def test_a_module_is_a_training(tmp_path):
    source = """
import numpy as np
w = np.ones(3, np.float32)
def batch():
    return np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
def gradients(micro_batches):
    x = np.concatenate(micro_batches)
    return {"w": x.T @ (x @ w) / len(x)}
"""
    file = tmp_path / "plain.py"
    file.write_text(source)
    [report] = d5.check_step(str(file)).reports
    assert report.ok, report.text
    assert verdicts(report) >= {("accumulation", "ok"), ("ranks", "ok")}
    assert ("resume", "not applicable") in verdicts(report)


class Moments(NamedTuple):
    mean: np.ndarray
    steps: int


def test_a_state_arrives_as_it_was_sent():
    torch = pytest.importorskip("torch")
    state = {
        0: torch.arange(3, dtype=torch.bfloat16),
        "moments": (Moments(np.ones(2), 3), None, "text"),
    }
    arrived = unpacked(json.loads(json.dumps(packed(state))))
    assert torch.equal(arrived[0], state[0]) and arrived[0].dtype == torch.bfloat16
    moments, nothing, text = arrived["moments"]
    assert (type(moments).__name__, moments.steps) == ("Moments", 3)
    assert moments.mean.tolist() == [1, 1] and (nothing, text) == (None, "text")
    with pytest.raises(TypeError, match="a object cannot be handed"):
        packed({"a": object()})


def test_trees():
    tree = {"a": [np.ones(2), 3], "b": (None, "text")}
    assert {name: a.tolist() for name, a in arrays(tree).items()} == {
        "a.0": [1.0, 1.0],
        "a.1": 3,
    }
    doubled = changed(tree, lambda array: 2 * array)
    assert doubled["a"][0].tolist() == [2.0, 2.0] and doubled["a"][1] == 3
    batch = Batch((np.arange(8).reshape(4, 2), ["a", "b", "c", "d"]))
    rows, texts = batch.take([2, 0])
    assert rows.tolist() == [[4, 5], [0, 1]] and texts == ["c", "a"]
    assert [len(part[1]) for part in batch.parts([3, 1])] == [3, 1]
