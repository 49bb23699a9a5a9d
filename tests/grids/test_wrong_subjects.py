"""Every verb x everything that a user can name in place of its subject, and should not: one line and exit code 2.

The subjects that a verb takes from a file are tried from files that are missing, broken, empty, binary, folders, that
raise, leave or lack a package when they are imported, and whose classes cannot be made.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from deep500.cli import VERBS, main
from deep500.frameworks import available_frameworks

SOURCES: dict[str, str | bytes] = {
    "broken": "def f(:\n",
    "raising": "raise RuntimeError('no import today')\n",
    "leaving": "import sys\nsys.exit(0)\n",
    "lacking": "import no_such_module\n",
    "empty": "",
    "number": "Thing = 3\n",
    "binary": bytes(range(256)),
}
CONSTRUCTORS = """
import deep500 as d5


def fail():
    raise ValueError("not built")


class Op(d5.Operator):
    def __init__(self):
        fail()

    def forward(self, xp, x):
        return x


class Optimizer(d5.optimizers.Adam):
    def __init__(self, *settings):
        fail()


class Codec(d5.codecs.TopK):
    def __init__(self, *settings):
        fail()


class Scheme(d5.schemes.LocalSGD):
    def __init__(self, *settings):
        fail()


class Collective(d5.collectives.Ring):
    def __init__(self, *settings):
        fail()


class Sampler(d5.ShuffleSampler):
    def __init__(self, *settings):
        fail()
"""
# Verbs and options that take FILE:NAME, with the class of that noun in the file of constructors.
FROM_FILES = {
    "check operator": "Op",
    "check operator Relu --shape 4x4 --reference": "",
    "check optimizer": "Optimizer",
    "check optimizer Adam --reference": "Optimizer",
    "check codec": "Codec",
    "check scheme": "Scheme",
    "check sampler": "Sampler",
    "check collective": "Collective",
    "simulate --ranks 4 --size 8": "Collective",
    "check step": "Optimizer",
    "check network mlp --against": "",
    "bench collective --transport virtual --size 8 --algorithm": "Collective",
    "bench compression --codec": "Codec",
    "bench compression --codec TopK(0.1) --scheme": "Scheme",
    "bench operator --shape 4x4 --budget 1": "Op",
    "bench operator Relu --shape 4x4 --budget 1 --reference": "",
    "run digits_mlp --tier tiny --optimizer": "Optimizer",
    "run digits_mlp --tier tiny --codec": "Codec",
    "run digits_mlp --tier tiny --scheme": "Scheme",
}
BUNDLES = {
    "verify": "{}",
    "report": "{}",
    "reproduce": "{}",
    "compare": "{} {}",
    "audit": "{}",
    "fool": "--way 1 {}",
    "sign": "--key no-key {}",
    "board": "{}",
    "export": "{} --to csv",
    "contest judge": "{}",
    "contest submit": "{} nothing.py",
}
NETWORKS = ("check network", "bench network", "show network")
RECIPES = (
    "run",
    "show recipe",
    "check reproducible",
    "contest init new-contest --recipe",
    "contest init new-contest --problem",
)
DATASETS = ("bench dataset", "show dataset")
# Subjects are free code or commands, or there is none.
WITHOUT_SUBJECT = {
    "doctor",
    "check",
    "history",  # of a name that may have no results
    "bench",
    "bench elementary",
    "bench collective",
    "bench compression",
    "bench convolution",
    "bench microbatch",
    "completion",
    "show",
    "list",
}
ON_FRAMEWORKS = ("check operator", "check optimizer", "bench operator", "check network")
# These start a process for every cell: of their cells, a few are quick tests.
SLOW = (
    "check operator",
    "bench operator",
    "check network mlp --against",
    "bench network",
)
QUICK = ("broken.py:Thing", "constructors.py:Op", "text.onnx")


# Verbs and options that take a definition as a text, with one of that noun.
AS_TEXTS = {
    "check operator": "Softmax",
    "check optimizer": "Adam",
    "check optimizer Adam --reference": "Adam",
    "check codec": "TopK",
    "check scheme": "LocalSGD",
    "check sampler": "ShuffleSampler",
    "check collective": "Ring",
    "check network mlp --optimizer": "Adam",
    "bench collective --transport virtual --size 8 --algorithm": "Ring",
    "bench compression --codec": "TopK",
    "bench compression --codec TopK(0.1) --scheme": "LocalSGD",
    "bench operator --shape 4x4 --budget 1": "Softmax",
    "run digits_mlp --tier tiny --optimizer": "Adam",
    "run digits_mlp --tier tiny --codec": "TopK",
    "run digits_mlp --tier tiny --scheme": "LocalSGD",
}
# X stands for the name; a text with a space would be two words here.
MALFORMED = (
    "X(",
    "X)",
    "X(,)",
    "X(no=1)",
    "X(0.1)(2)",
    "|X",
    "X|",
    "X(__import__('os'))",
    "1X",
    "Xx",
)


def words() -> Iterator[str]:
    for start, class_name in FROM_FILES.items():
        names = [f"{source}.py:Thing" for source in (*SOURCES, "missing", "folder")]
        if class_name:
            names += [f"constructors.py:{class_name}"]
        names += ["constructors.py:Absent", "folder.py"]
        for name in names:
            yield f"{start} {name}"
    for verb in NETWORKS:
        for file in (
            "missing.onnx",
            "binary.onnx",
            "empty.onnx",
            "text.onnx",
            "folder.py",
            "no-net",
        ):
            yield f"{verb} {file}"
        for source in ("broken", "raising", "empty", "leaving"):
            yield f"{verb} {source}.py:make"
    for verb in RECIPES:
        for source in (*SOURCES, "missing", "folder"):
            yield f"{verb} {source}.py"
    for verb in DATASETS:
        for name in ("missing", "folder.py", "binary.py", "broken.py:Thing"):
            yield f"{verb} {name}"
    for verb, form in BUNDLES.items():
        for name in ("missing", "folder.py", "binary.py", "empty.py", "text.onnx"):
            if (verb, name) != ("board", "folder.py"):  # a board may be empty
                yield f"{verb} {form.format(name, name)}"


def cells() -> Iterator:
    for line in words():
        frameworks = [""]
        if line.startswith(ON_FRAMEWORKS):
            frameworks = list(available_frameworks())
        for framework in frameworks:
            whole = f"{line} --framework {framework}" if framework else line
            is_quick = framework in ("", "reference")
            if line.startswith(SLOW):
                is_quick = is_quick and line.endswith(QUICK)
            marks = [] if is_quick else [pytest.mark.slow]
            yield pytest.param(whole, marks=marks, id=whole)
    for start, name in AS_TEXTS.items():
        for text in MALFORMED:
            marks = [] if text == "X(,)" else [pytest.mark.slow]
            whole = f"{start} {text.replace('X', name)}"
            yield pytest.param(whole, marks=marks, id=whole)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, source in SOURCES.items():
        content = source if isinstance(source, bytes) else source.encode()
        (tmp_path / f"{name}.py").write_bytes(content)
    (tmp_path / "constructors.py").write_text(CONSTRUCTORS)
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "binary.onnx").write_bytes(bytes(range(256)))
    (tmp_path / "empty.onnx").write_bytes(b"")
    (tmp_path / "text.onnx").write_text("no model")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("line", [*cells()])
def test_wrong_subject_is_one_line(line: str, folder: Path, capsys) -> None:
    assert main(line.split()) == 2
    answer = capsys.readouterr()
    assert answer.out == ""
    # what others do to the machine, and what is going on, are lines of their own
    said = re.sub(
        r"^(warning: |note: |.{0,4}%).*\n", "", answer.err, flags=re.MULTILINE
    )
    said = said.strip("\n")
    assert said.startswith("d5: ") and said.count("\n") == 0, answer.err
    assert "no import today" in said or "raising.py" not in line


def test_every_verb_is_in_the_grid() -> None:
    verbs = {*NETWORKS, *DATASETS, *BUNDLES, *WITHOUT_SUBJECT}
    for start in (*FROM_FILES, *RECIPES):
        verbs |= {verb for verb in VERBS if start.startswith(verb)}
    assert verbs == set(VERBS)
