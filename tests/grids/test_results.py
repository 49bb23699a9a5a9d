"""Every kind of result × every verb that reads it: the right exit code, one line for what cannot be, no jargon."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from deep500 import cli, registry
from deep500 import networks as d5_networks
from deep500.bundle.records.recording import recorded_diagnosis, recording
from deep500.contracts.result import comparable_kinds
from deep500.instrumentation.run import instrument

RECIPES = Path(__file__).parents[2] / "recipes"
GOLDEN = Path(__file__).parents[1] / "data" / "golden"
TINY = ["--tier", "tiny", "--framework", "reference"]
BUDGET = ["--budget", "0.2", "--processes", "2"]
# Words for statisticians, which belong into footnotes.
JARGON = re.compile(
    r"Nyblom|MOVER|Brookmeyer|Hodges|Kaplan|Welch|first step of a stretch|name R2"
)
FOOTNOTES = re.compile(r"<details>.*?</details>", re.S)
TRACE = re.compile(r"Traceback|[A-Z]\w*(Error|Exception)\b|internal error")


def instrumented(folder: Path) -> None:
    with instrument("script", seed=0, out=folder, better={"accuracy": "higher"}) as run:
        for epoch in range(2):
            for number in run.batches(range(9)):
                run.step(loss=1 / (1 + number + epoch), examples=8)
            run.evaluation(accuracy=90 + epoch)


def conformance(folder: Path) -> None:
    cases = [{"name": "test_relu", "kind": "node", "operator": "relu"}]
    versions = {"onnx": "1", "numpy": "2"}
    plan = {"cases": cases, "columns": ["reference"], "versions": versions}
    with recording("conformance", plan, folder) as record:
        record.append({"column": "reference", "words": ["pass"], "texts": [""]})
        record.finish()


def doctor(folder: Path) -> None:
    recorded_diagnosis(0.2, folder)


def command(*argv: str) -> Callable[[Path], None]:
    """A result that a verb records."""

    def make(folder: Path) -> None:
        assert cli.main([*argv, "--out", str(folder)]) in (0, 1)

    return make


def network(*argv: str) -> Callable[[Path], None]:
    """A result of a verb about a small network."""

    def make(folder: Path) -> None:
        model = folder.with_name("small.onnx")
        d5_networks.Mlp(hidden=(4,)).build((3,), 2).to_onnx(model)
        verb, noun, *rest = argv
        assert cli.main([verb, noun, str(model), *rest, "--out", str(folder)]) in (0, 1)

    return make


def golden(name: str) -> Callable[[Path], None]:
    """A result that takes minutes: one that was recorded before."""
    return lambda folder: shutil.unpack_archive(GOLDEN / f"{name}.zip", folder)


def recipe(name: str, *options: str) -> Callable[[Path], None]:
    return command("run", str(RECIPES / f"{name}.py"), *TINY, *options)


def reproduction(folder: Path) -> None:
    run = folder.with_name(f"{folder.name}-run")
    recipe("digits_logistic", "--seeds", "1")(run)
    assert cli.main(["reproduce", str(run), "--out", str(folder)]) in (0, 1, 3)


# what -> kind of result, and how one is made
QUICK: dict[str, tuple[str, Callable[[Path], None]]] = {
    "bench": ("bench", command("bench", "sum(range(9))", *BUDGET)),
    "recipe": ("recipe", recipe("digits_logistic", "--seeds", "3")),
    "recipe, one seed": ("recipe", recipe("digits_logistic", "--seeds", "1")),
    "recipe, one virtual rank": (
        "recipe",
        recipe("digits_logistic", "--seeds", "3", "--set", "ranks=1"),
    ),
    "instrumented": ("instrumented", instrumented),
    "conformance": ("conformance", conformance),
    "suite": ("suite", golden("suite")),
    "simulation": (
        "cluster_simulation",
        command("simulate", "Ring()", "--ranks", "4", "--size", "1KiB"),
    ),
    "sampler check": (
        "sampler_check",
        command("check", "sampler", "ShuffleSampler"),
    ),
    "network check": (
        "network_check",
        network("check", "network", "--framework", "reference"),
    ),
}
SLOW: dict[str, tuple[str, Callable[[Path], None]]] = {
    "recipe, regression": ("recipe", recipe("diabetes_regression", "--seeds", "3")),
    "recipe, virtual ranks": (
        "recipe",
        recipe("digits_logistic", "--seeds", "3", "--set", "ranks=2"),
    ),
    "doctor": ("doctor", doctor),
    "reproduction": ("reproduction", reproduction),
    "recipe, GAN": ("recipe", recipe("digits_gan", "--seeds", "2")),
    "recipe, autoencoder": ("recipe", recipe("digits_autoencoder", "--seeds", "2")),
    "elementary": (
        "elementary",
        command("bench", "elementary", "exp", "--framework", "reference", "--n", "9"),
    ),
    "operator bench": (
        "bench",
        command(
            "bench",
            "operator",
            "Relu",
            "--shape",
            "8x8",
            "--framework",
            "reference",
            *BUDGET,
        ),
    ),
    "network bench": (
        "network_bench",
        network("bench", "network", "--framework", "reference", *BUDGET),
    ),
    "dataset bench": (
        "dataset_bench",
        command("bench", "dataset", "digits", "--budget", "1"),
    ),
    "convolution bench": (
        "convolution_bench",
        command(
            "bench",
            "convolution",
            "--shape",
            "1x3x8x8,4x3x3",
            "--threads",
            "1",
            *BUDGET,
        ),
    ),
    "collective bench": (
        "collective_bench",
        command("bench", "collective", "--transport", "virtual", "--size", "8", "1MB"),
    ),
    "compression bench": ("compression_bench", golden("compression")),
    "micro-batch bench": ("micro_batch_bench", golden("micro_batch")),
    "contest of kernels": ("kernel_contest", golden("kernel_contest")),
    "operator check": (
        "check",
        command("check", "operator", "Relu", "--framework", "reference"),
    ),
    "optimizer check": (
        "optimizer_check",
        command("check", "optimizer", "SGD(0.1)", "--framework", "reference"),
    ),
}
ALL = QUICK | SLOW
CELLS = [
    "show",
    "show --json",
    "show --verbose",
    "report html",
    "report markdown",
    "report terminal",
    "report json",
    "report html --json",
    "verify",
    "verify --json",
    "compare itself",
    "compare itself --json",
    "compare itself --out",
    "compare another",
    "compare another --json",
    "compare another kind",
    "compare another kind --json",
    "compare nothing",
    "list",
    "list --json",
]
GRID = []
for _what in ALL:
    for _cell in CELLS:
        _marks = [pytest.mark.slow] if _what in SLOW else []
        GRID.append(pytest.param(_what, _cell, marks=_marks, id=f"{_what}-{_cell}"))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of a result by what it is, made when it is first asked for."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("results")
        patch.setenv("DEEP500_HOME", str(folder / "home"))

        def result(what: str, copy: int = 0) -> Path:
            path = folder / f"{re.sub(r'[^a-z]+', '-', what)}-{copy}"
            if not path.exists():
                ALL[what][1](path)
            return path

        yield result


def run_cell(made, what: str, cell: str, folder: Path) -> tuple[list[str], int]:
    """The command of a cell and the exit code that it must have."""
    kind = ALL[what][0]
    path = made(what)
    verb, _, rest = cell.partition(" ")
    options = ["--json"] if cell.endswith("--json") else []
    rest = rest.removesuffix("--json").strip()
    comparable = 0 if kind in comparable_kinds() else 2
    if verb == "list":
        return ["list", *options], 0
    if verb == "report":
        out = ["--out", str(folder / "page")] if rest == "html" else []
        return ["report", str(path), "--format", rest, *out, *options], 0
    if verb == "show" and rest == "--verbose":
        return ["report", str(path), "--format", "markdown"], 0
    if verb != "compare":
        return [verb, str(path), *options], 0
    if rest == "itself --out":
        page = ["--out", str(folder / "page")]
        return ["compare", str(path), str(path), *page], comparable
    if rest == "nothing":
        return ["compare", str(path), *options], 2
    other = path
    if rest == "another":
        other = made(what, copy=1)
    if rest == "another kind":
        other = made("instrumented" if kind != "instrumented" else "conformance")
        comparable = 2
    return ["compare", str(path), str(other), *options], comparable


@pytest.mark.parametrize(("what", "cell"), GRID)
def test_every_kind_of_result_through_every_verb(what, cell, made, tmp_path, capsys):
    argv, expected = run_cell(made, what, cell, tmp_path)
    capsys.readouterr()
    code = cli.main(argv)
    captured = capsys.readouterr()
    assert code == expected, captured.err
    assert not TRACE.search(captured.err)
    if code == 2:
        [line] = captured.err.splitlines()
        assert line.startswith("d5: ") and captured.out == ""
        return
    assert captured.err == ""
    text = captured.out
    if "--json" in argv or (argv[:1] == ["report"] and "json" in argv):
        json.loads(text)
        return
    page = tmp_path / "page"
    if page.exists():
        text += FOOTNOTES.sub("", page.read_text())
    if argv[:1] == ["compare"]:
        first = text.splitlines()[0]
        assert first.startswith("**") and re.search(r"\bA\b", first), first
    assert not TRACE.search(text)
    if "markdown" not in argv:  # which has footnotes as sections
        assert not JARGON.search(text), JARGON.search(text)


def test_every_kind_of_result_is_in_the_grid():
    kinds = {registry.file_stem(name) for name in registry.known("results")}
    assert kinds == {kind for kind, _ in ALL.values()}
