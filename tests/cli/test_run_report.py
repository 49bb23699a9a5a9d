"""`d5 show` and `d5 report` of a recipe's run, finished or not."""

import re
import shlex
from pathlib import Path

import pytest

from deep500 import bundle

MLP = Path(__file__).parents[2] / "recipes" / "digits_mlp.py"


@pytest.fixture
def run(d5, tmp_path):
    answer = d5(
        "run",
        MLP,
        "--tier",
        "tiny",
        "--framework",
        "reference",
        "--seeds",
        3,
        "--out",
        tmp_path / "run",
    )
    assert answer.code in (0, 1), answer.err
    return tmp_path / "run"


def test_every_form(d5, run, tmp_path):
    text = d5("show", run).out
    assert re.match(
        r"\*\*.*acceptable.*: test accuracy .* over 3 seeds, target 93 %", text
    )
    assert d5("report", run, "--format", "terminal").out == text
    marked = d5("report", run, "--format", "markdown").out
    assert marked.startswith("# digits_mlp\n") and text.splitlines()[0] in marked
    said = d5("show", run, "--json").json
    assert (
        said["finished"]
        and said["problems"] == []
        and [m["n"] for m in said["metrics"]] == [3, 3, 3]
    )
    assert d5("report", run, "--out", tmp_path / "page.html").code == 0
    # four pictures, each for wide screens and for phones
    assert (tmp_path / "page.html").read_text().count("<svg") == 8
    assert d5("show").out == text  # the last run, found by the ledger


def test_the_command_to_go_on_with_an_unfinished_run_works(d5, run, tmp_path):
    whole = bundle.read(run)
    part = tmp_path / "part"
    writer = bundle.create(
        part,
        {name: whole.documents[name] for name in ("plan.json", "environment.json")},
        kind="recipe",
    )
    writer.close()  # begun, and ended before its first epoch
    shown = d5("show", part)
    assert shown.code == 0 and shown.out.startswith("**unfinished: 0 of 3 seeds")
    assert not d5("show", part, "--json").json["finished"]
    _, *command = shlex.split(re.search("`(d5 run .*?)`", shown.out)[1])
    answer = d5(
        *[str(MLP) if word == "recipes/digits_mlp.py" else word for word in command]
    )
    assert answer.code in (0, 1), answer.err
    assert bundle.read(part).files == whole.files  # the same weights to the bit
