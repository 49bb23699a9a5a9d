"""The environment has the hash of this package, PYTHONPATH, and what Python imports before a program."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from deep500.measure.machine import Environment, environment, environment_difference
from deep500.measure.machine.host import own_source

SHOW = (
    "import json; from deep500.measure.machine import environment; "
    "print(json.dumps(environment().to_json()))"
)
GROUP = "benchmark input and software"


def seen_by_another_process(folder: Path, **variables: str) -> Environment:
    names = ("PYTHONPATH", "PYTHONSTARTUP")
    kept = {key: value for key, value in os.environ.items() if key not in names}
    command = [sys.executable, "-c", SHOW]
    done = subprocess.run(
        command, env=kept | variables, cwd=folder, capture_output=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return Environment.from_json(json.loads(done.stdout))


def test_a_module_that_runs_first_is_seen_and_compared(tmp_path: Path) -> None:
    usual = seen_by_another_process(tmp_path)
    (tmp_path / "sitecustomize.py").write_text("import time\n")
    patched = seen_by_another_process(tmp_path, PYTHONPATH=str(tmp_path))
    assert patched.fact(GROUP, "PYTHONPATH").value == str(tmp_path)
    modules: Any = patched.fact(GROUP, "imported before the program").value
    [module] = modules
    assert module.startswith("sitecustomize, sha256 ")
    differing = {fact.fact for fact in environment_difference(usual, patched)}
    assert {"PYTHONPATH", "imported before the program"} <= differing
    assert "source of deep500" not in differing


def test_one_changed_line_of_the_package_is_another_source(
    tmp_path: Path, monkeypatch: Any
) -> None:
    recorded = environment().fact(GROUP, "source of deep500").value
    assert recorded == own_source.package_hash()
    copy = tmp_path / "deep500"
    copy.mkdir()
    for name in ("errors.py", "home.py"):
        shutil.copy(own_source.PACKAGE / name, copy / name)
    monkeypatch.setattr(own_source, "PACKAGE", copy)
    whole = own_source.package_hash.__wrapped__()
    assert whole == own_source.package_hash.__wrapped__() != recorded
    with open(copy / "home.py", "a") as file:
        file.write("# another line\n")
    assert own_source.package_hash.__wrapped__() != whole
