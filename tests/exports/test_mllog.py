"""MLPerf's log: read by our own reader, and judged by MLPerf's checker where it is installed."""

import json
import subprocess
import sys

import pytest

from deep500.logs import log_dossier

BORROWED = ["--set", "benchmark=resnet"]
RULES = ["--usage", "training", "--ruleset", "3.1.0"]


def events(path):
    lines = path.read_text().splitlines()
    return [json.loads(line.partition(" ")[2]) for line in lines]


def test_a_log_for_each_seed_with_the_times_of_the_run(export, golden):
    record = golden("recipe")
    folder = export("recipe", "mllog")
    files = sorted(folder.iterdir())
    assert len(files) == len(record.plan.seeds)
    found = events(files[0])
    times = [event["time_ms"] for event in found]
    order = [event["key"] for event in found]
    assert times == sorted(times)
    assert order.index("init_stop") < order.index("run_start") < order.index("run_stop")
    accuracies = [e["value"] for e in found if e["key"] == "eval_accuracy"]
    rows = [*record.kind.sample_rows(record)]
    expected = [
        row.value / 100
        for row in rows
        if row.quantity == "validation accuracy" and row.levels["seed"] == 0
    ]
    assert accuracies == pytest.approx(expected)
    [name] = [e["value"] for e in found if e["key"] == "submission_benchmark"]
    assert name == record.plan.recipe.name
    [org] = [e["value"] for e in found if e["key"] == "submission_org"]
    assert org == "not a submission"


def test_our_reader_takes_it(export):
    [file, *_] = sorted(export("recipe", "mllog").iterdir())
    dossier = log_dossier(file)
    names = {number.name for number in dossier.number}
    assert names == {"time of the run", "eval_accuracy"}
    assert dossier.measurement[0].complete


def checked(path, folder):
    command = [sys.executable, "-m", "mlperf_logging.compliance_checker", *RULES]
    return subprocess.run(
        [*command, str(path)], cwd=folder, capture_output=True, text=True, timeout=120
    )


def test_mlperfs_checker_accepts_it_and_finds_an_omission(export, tmp_path):
    pytest.importorskip(
        "mlperf_logging", reason="pip install --no-deps mlperf-logging; needs PyYAML"
    )
    [file, *_] = sorted(export("recipe", "mllog", *BORROWED).iterdir())
    done = checked(file, tmp_path)
    assert done.returncode == 0 and "SUCCESS" in done.stderr, done.stderr
    lines = file.read_text().splitlines()
    for omitted in ("cache_clear", "run_stop", "eval_accuracy", "train_samples"):
        left = [line for line in lines if f'"key": "{omitted}"' not in line]
        assert len(left) < len(lines)
        planted = tmp_path / f"without_{omitted}.txt"
        planted.write_text("\n".join(left) + "\n")
        done = checked(planted, tmp_path)
        assert done.returncode == 1 and "FAILED" in done.stderr, (omitted, done.stderr)
