"""An interrupted run says how to go on, in a command that can be pasted, and `d5 list` calls it interrupted."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

RECIPE = """
import deep500 as d5

FIXED = {"model": "mlp", "model_kwargs": {"hidden": (8,)}, "dataset": "digits", "epochs": 400}
MUTABLE = {"batch_size": 16, "executor": "reference", "optimizer": d5.optimizers.SGD(0.01)}
METRICS = [(d5.TestAccuracy(), None)]
TIERS = {"tiny": {"seeds": 1, "epochs": 400}}
"""
D5 = "from deep500.cli import main; raise SystemExit(main())"


def d5(*args: str) -> list[str]:
    return [sys.executable, "-c", D5, *args]


def lines(file: Path) -> int:
    return len(file.read_bytes().splitlines()) if file.exists() else 0


@pytest.mark.parametrize(
    ("out", "number"),
    [
        (["--out", "my run"], signal.SIGINT),
        (["--out", "my run"], signal.SIGTERM),
        ([], signal.SIGINT),
        pytest.param([], signal.SIGTERM, marks=pytest.mark.slow),
    ],
)
def test_the_command_that_goes_on(
    tmp_path: Path, number: signal.Signals, out: list[str]
) -> None:
    (tmp_path / "my recipe.py").write_text(RECIPE)
    surroundings = {**os.environ, "DEEP500_HOME": str(tmp_path / "home")}
    command = d5("run", "my recipe.py", "--tier", "tiny", "--set", "batch_size=64")
    with subprocess.Popen(
        [*command, *out],
        cwd=tmp_path,
        env=surroundings,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    ) as process:
        deadline = time.monotonic() + 120
        while not any(lines(file) > 1 for file in tmp_path.rglob("samples.jsonl")):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(number)
        assert process.stderr is not None
        complaint = process.stderr.read().strip().splitlines()[-1]
    assert process.returncode == 128 + number
    assert "Traceback" not in complaint
    _, go_on, _ = complaint.split("`")
    words = shlex.split(go_on)
    assert words[:6] == ["d5", *command[3:8]] and "--resume" in words

    def run(*args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            d5(*args), cwd=tmp_path, env=surroundings, capture_output=True, text=True
        )

    [listed] = json.loads(run("list", "--json").stdout)
    assert listed["state"] == "interrupted"
    again = run(*words[1:], "--json")
    assert again.returncode == 0, again.stderr
    states = [row["state"] for row in json.loads(run("list", "--json").stdout)]
    assert states == ["finished", "interrupted"]
