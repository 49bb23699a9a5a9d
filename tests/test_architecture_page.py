"""docs/architecture.md names the files that a step, a check and a bench really pass: counted here."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deep500 as d5

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
OURS = f"{os.sep}deep500{os.sep}"
# passed only if more samples would be needed
SOMETIMES = {"measure/statistics/comparison.py"}
FUNCTION = 1  # the flag of code that is a function, not the body of a module or a class

# What Python runs first in every process: writes down the file of each function when it is first called.
WATCH = """
import os, sys, threading
seen = set()
def watch(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_flags & 1 and code not in seen:
        seen.add(code)
        if OURS in code.co_filename:
            with open(os.environ["PASSED"], "a") as file:
                file.write(code.co_filename.rpartition(OURS)[2] + "\\n")
sys.setprofile(watch)
threading.setprofile(watch)
"""


def named(start: str) -> set[str]:
    """The files behind the words `start` on the page, up to the next empty line; braces are written out."""
    text = PAGE[PAGE.index(start) + len(start) :].split("\n\n")[0]
    files: set[str] = set()
    for item in re.findall(r"`([^`]+)`", text):
        before, _, rest = item.partition("{")
        inside, _, after = rest.partition("}")
        files.update(before + part + after for part in inside.split(","))
    return files


def listed(files: set[str]) -> str:
    """Files as the page writes them: those of one folder in braces."""
    folders: dict[str, list[str]] = {}
    for file in sorted(files):
        folder, _, name = file.rpartition("/")
        folders.setdefault(folder, []).append(name.removesuffix(".py"))
    items = []
    for folder, names in folders.items():
        inside = names[0] if len(names) == 1 else "{" + ",".join(names) + "}"
        items.append(f"`{folder}/{inside}.py`" if folder else f"`{inside}.py`")
    return ", ".join(items)


def check_page(start: str, passed: set[str]) -> None:
    on_page = named(start)
    passed = passed | (SOMETIMES & on_page)
    assert on_page == passed, f"write on the page, behind {start!r}: {listed(passed)}"


def passed_by(arguments: list[str], folder: Path) -> set[str]:
    """The files of ours that a command and all its child processes pass."""
    (folder / "sitecustomize.py").write_text(WATCH.replace("OURS", repr(OURS)))
    passed = folder / "passed"
    path = os.pathsep.join([str(folder), str(ROOT)])
    environment = os.environ | {"PASSED": str(passed), "PYTHONPATH": path}
    environment |= {"DEEP500_HOME": str(folder / "home")}
    command = [sys.executable, "-m", "deep500.cli", *arguments]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return set(passed.read_text().split())


COMMANDS = {
    "Files that `d5 bench` passes: ": [
        "bench",
        "pass",
        "--budget",
        "1",
        "--processes",
        "3",
    ],
    "Files that `d5 check` passes: ": [
        "check",
        "operator",
        "Relu",
        "--framework",
        "reference",
    ],
}


@pytest.mark.parametrize("start", COMMANDS)
def test_the_page_names_what_a_command_passes(start: str, tmp_path: Path) -> None:
    check_page(start, passed_by(COMMANDS[start], tmp_path) - {"cli/__main__.py"})


def passed_in(call: Callable[[], Any]) -> set[str]:
    files: set[str] = set()

    def watch(frame: Any, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_flags & FUNCTION and OURS in code.co_filename:
            files.add(code.co_filename.rpartition(OURS)[2])

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(before)
    return files


@pytest.mark.parametrize(
    ("name", "word"), [("pytorch", "PyTorch"), ("onnxruntime", "ONNX Runtime")]
)
def test_the_page_names_what_a_training_step_passes(name: str, word: str) -> None:
    network = d5.networks.DigitsCnn().build((1, 8, 8), 10, seed=0)
    step = d5.framework(name).executor(network).training_step(d5.optimizers.Adam())
    x = np.random.default_rng(0).random((4, 1, 8, 8), np.float32)
    batch = {"x": x, "label": np.arange(4)}
    for _ in range(2):
        step(batch)  # builds what is built once
    check_page(f"Files that a step on {word} passes: ", passed_in(lambda: step(batch)))


def test_a_page_that_names_another_file_is_found() -> None:
    with pytest.raises(AssertionError, match="write on the page"):
        check_page("Files that a step on PyTorch passes: ", {"optimizers/sgd.py"})
    assert listed({"a/b.py", "a/c.py", "d.py"}) == "`a/{b,c}.py`, `d.py`"
