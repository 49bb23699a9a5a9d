"""Golden bundles: one of every kind, and what the verbs print of them, so that a change of the code cannot change that.

python tests/results/golden.py                 writes what is printed again, after a change that is meant
python tests/results/golden.py FOLDER NAME     adds the bundle in a folder, with the facts that matter here
"""

import contextlib
import io
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from deep500 import bundle, cli
from deep500.bundle import writing

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
FACTS = (
    "accelerators",
    "clock source",
    "cpu model",
    "kernel",
    "load (1 min)",
    "logical cpus",
    "memory size (GiB)",
    "moment",
    "package numpy",
    "package torch",
    "python",
    "usable cpus",
)
VERBS = {
    "verify.txt": ["verify"],
    "show.json": ["show", "--json"],
    "report.json": ["report", "--format", "json"],
    "report.md": ["report", "--format", "markdown"],
}
COMPARED = {
    "bench": ["bench_again"],
    "instrumented": ["instrumented_again"],
    "operator": ["operator_again"],
    "recipe": ["recipe_adam", "diverged"],
    "network": ["network"],
    "convolution": ["convolution"],
    "micro_batch": ["micro_batch"],
    "ranks": ["codec"],
}
LAST_DIGITS = re.compile(r"\d\.\d{11,}(e[+-]\d+)?|\d{2,}\.\d{10,}(e[+-]\d+)?")


def names() -> list[str]:
    return sorted(path.stem for path in GOLDEN.glob("*.zip"))


def printed(name: str) -> dict[str, str]:
    """What the verbs print of a bundle, by the name of the file that keeps it."""
    file = f"{name}.zip"
    outputs = {}
    for key, verb in VERBS.items():
        outputs[f"{name}.{key}"] = output([*verb, file])
    for other in COMPARED.get(name, ()):
        line = ["compare", "--json", file, f"{other}.zip"]
        outputs[f"{name}.{other}.json"] = output(line)
    return outputs


def output(arguments: list[str]) -> str:
    """What a command prints in the folder of the bundles, with its exit code, numbers rounded to twelve digits."""
    text = io.StringIO()
    errors = io.StringIO()
    with (
        contextlib.chdir(GOLDEN),
        contextlib.redirect_stdout(text),
        contextlib.redirect_stderr(errors),
    ):
        code = cli.main(arguments)
    lines = LAST_DIGITS.sub(_rounded, text.getvalue() + errors.getvalue())
    return f"{lines}exit code {code}\n"


def _rounded(match: re.Match[str]) -> str:
    """Another processor may round the last digits of a logarithm differently."""
    return f"{float(match.group()):.12g}"


def add(folder: Path, name: str) -> None:
    """Seal the bundle again, as a zip, without the facts that belong to one machine alone."""
    old = bundle.read(folder)
    assert old.finished and not old.problems, old.problems
    around = [Path.cwd(), folder.parent, folder.parent.parent, tempfile.gettempdir()]
    documents = {
        key: _without_paths(value, around)
        for key, value in old.documents.items()
        if key != "manifest.json"
    }
    documents["environment.json"] = _small(documents["environment.json"])
    first = {key: documents.pop(key) for key in ("plan.json", "environment.json")}
    contents = {file: old.load(file) for file in old.files if file not in documents}
    with tempfile.TemporaryDirectory() as temporary:
        sealed = Path(temporary) / name
        manifest = old.documents["manifest.json"]
        assert isinstance(manifest, dict)
        times = iter([old.created, manifest["finished"]])
        with mock.patch.object(writing, "_now", lambda: next(times)):
            writer = writing.create(sealed, first, old.kind)
            for block in old.blocks:
                writer.append(_without_paths(block, around))
            writer.finish(documents, contents)
        shutil.make_archive(str(GOLDEN / name), "zip", sealed)


def _without_paths(value: Any, folders: Sequence[object]) -> Any:
    """The JSON value with paths relative to these folders."""
    text = json.dumps(value)
    for folder in folders:
        text = text.replace(f"{folder}/", "")
    return json.loads(text)


def _small(environment: dict) -> dict:
    classes = {}
    for class_name, facts in environment["classes"].items():
        known = {name: fact for name, fact in facts.items() if name in FACTS}
        classes[class_name] = known
    return environment | {"classes": classes}


def main(arguments: list[str]) -> None:
    if arguments:
        add(Path(arguments[0]), arguments[1])
        return
    with tempfile.TemporaryDirectory() as home:
        os.environ["DEEP500_HOME"] = home
        for name in names():
            for file, text in printed(name).items():
                (GOLDEN / file).write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
