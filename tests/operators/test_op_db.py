"""Operators agree with PyTorch on PyTorch's own samples, as users pass them: benchmarks/op_db.py, whole or in part."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

PLANTED = """
import op_db, _translations as t
from deep500.contracts import inputs
t.TRANSLATIONS["sigmoid"] = lambda x: t.Call("Tanh", [x])
t.TRANSLATIONS["nn.functional.relu"] = lambda x: t.Call("Identity", [x])
op_db.registry.find("operators", "Sin").backward = lambda self, xp, dy, x: -dy * xp.cos(x)
inputs.canonical = lambda value, annotation: value
for name, info in op_db.functions(""):
    if name in ("sigmoid", "nn.functional.relu", "sin", "unsqueeze"):
        tally = op_db.judge(info, name, 5, op_db.framework("reference"))
        print(name, tally.agree, len(tally.faults))
"""


def run(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, *words],
        cwd=BENCHMARKS,
        capture_output=True,
        text=True,
        timeout=1200,
    )


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["--samples", "3"], id="sample"),
        pytest.param([], id="whole", marks=pytest.mark.slow),
        pytest.param(["--framework", "pytorch"], id="pytorch", marks=pytest.mark.slow),
        pytest.param(
            ["--framework", "jax", "--samples", "3"], id="jax", marks=pytest.mark.slow
        ),
        pytest.param(
            ["--framework", "tensorflow", "--samples", "3"],
            id="tensorflow",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_samples_agree(tmp_path: Path, options: list[str]) -> None:
    done = run("op_db.py", "--json", str(tmp_path / "tallies.json"), *options)
    assert done.returncode == 0, done.stdout + done.stderr
    tallies = json.loads((tmp_path / "tallies.json").read_text()).values()
    assert (
        sum(t["agree"] for t in tallies) > 300
        and sum(t["gradients"] for t in tallies) > 200
    )


def test_wrong_operators_wrong_derivatives_and_values_that_are_not_taken_are_found() -> (
    None
):
    done = run("-W", "ignore", "-c", PLANTED)
    assert done.returncode == 0, done.stderr
    found = {
        name: (int(agree), int(wrong))
        for name, agree, wrong in map(str.split, done.stdout.splitlines())
    }
    assert found.keys() == {"sigmoid", "nn.functional.relu", "sin", "unsqueeze"}
    # an empty sample always agrees
    assert all(wrong > agree for agree, wrong in found.values()), found
