"""Contests of kernels: honest ones are judged, whatever they are; the cheats in kernels/ gain nothing."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deep500 import cli
from deep500.bundle.records.verification import verify
from deep500.contest.definition import ContestFolder, create
from deep500.contest.kernel_problem import KernelProblem
from deep500.errors import Deep500Error
from deep500.hashing.imported_files import file_hashes

from ..corpus.catalogue import CORPUS
from .cup import contest, judged

HERE = Path(__file__).parent
KERNELS = HERE / "kernels"
PROBLEM = HERE / "problem.py"
HONEST = HERE / "honest_kernel.py"
QUICK = {"cached_by_pointer"}

# refused: by the layer, and a part of the reason
REFUSED = {
    "answers_in_the_frames": ("answers", "is wrong"),
    "cached_by_content": ("answers", "is wrong"),
    "cached_by_id": ("answers", "is wrong"),
    "cached_by_pointer": ("answers", "is wrong"),
    "denormals_flushed": ("answers", "is wrong"),
    "half_precision": ("answers", "is wrong"),
    "half_the_rows": ("answers", "is wrong"),
    "inputs_zeroed": ("submission", "read-only"),
    "lazy_output": ("answers", "is wrong"),
    "outputs_aliased": ("answers", "is wrong"),
    "outputs_written_once": ("submission", "SystemExit"),
    "result_forged": ("process", "channel"),
    "right_at_first": ("answers", "is wrong"),
    "statistics_tampered": ("answers", "is wrong"),
    "work_in_a_process": ("answers", "is wrong"),
    "work_in_a_thread": ("answers", "is wrong"),
    "zeros": ("answers", "is wrong"),
}
# judged: all of the 2 ms of each call are in the judge's time
TIMED = ("clock_patched", "clock_of_the_judge_patched")
WAIT_S = 0.002


def problem_of(name: str) -> Path:
    """Most kernels cheat at the same problem; others have one of their own."""
    own = HERE / f"problem_of_{name}.py"
    return own if own.exists() else PROBLEM


def opened(path: Path, problem: Path = PROBLEM, **changes: Any) -> ContestFolder:
    settings = {"kind": "kernel", "visits": 3, "calls": 25, "seeds": 1}
    digest = file_hashes({"problem": problem})["problem"]
    return create(path, problem, contest(recipe=digest, **settings | changes))


def cells(names: Any) -> list[Any]:
    return [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.slow)
        for name in sorted(names)
    ]


def test_every_kernel_has_its_outcome() -> None:
    files = {path.stem for path in KERNELS.glob("*.py")}
    assert files == {*REFUSED, *TIMED} and len(files) >= 17


@pytest.mark.parametrize("name", cells(REFUSED))
def test_a_cheat_is_refused(name: str, tmp_path: Path) -> None:
    folder = opened(tmp_path / "cup", problem_of(name))
    outcome = judged(folder, KERNELS / f"{name}.py")
    layer, reason = REFUSED[name]
    assert not outcome.judgement.accepted
    assert outcome.judgement.layer == layer, outcome.judgement
    assert reason in outcome.judgement.reason


@pytest.mark.parametrize("name", cells(TIMED))
def test_a_patched_clock_gains_nothing(name: str, tmp_path: Path) -> None:
    outcome = judged(opened(tmp_path / "cup"), KERNELS / f"{name}.py")
    assert outcome.judgement.accepted, outcome.judgement
    assert outcome.document("derived.json")["submission_s"] >= WAIT_S


def test_an_honest_kernel_has_a_result(tmp_path: Path, capsys: Any) -> None:
    folder = opened(tmp_path / "cup", seeds=2)
    outcome = judged(folder, HONEST)
    assert outcome.judgement.accepted, outcome.judgement
    assert outcome.bundle is not None and verify(outcome.bundle).ok
    numbers = outcome.document("derived.json")
    assert numbers["worst"] <= 1 and numbers["n"] == 4
    assert cli.main(["show", str(outcome.bundle)]) == 0
    assert "submission / reference" in capsys.readouterr().out
    site = tmp_path / "site"
    assert cli.main(["board", str(folder.path / "results"), "-o", str(site)]) == 0
    assert "honest_kernel is alone in time" in capsys.readouterr().out


CORPUS_KERNEL = """
import importlib.util
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import {module}

operator = getattr({module}, {name!r})


def kernel(*inputs):
    if isinstance(operator, type):
        return operator().forward(list(inputs))
    return operator(*inputs)
"""
CORPUS_PROBLEM = """

TOLERANCE = (1e-3, 1e-4)


def inputs(rng):
    return [rng.uniform({low}, {high}, (4, 6)) for _ in range({count})]


def reference(*inputs):
    return {reference}(*inputs)
"""


def loaded(file: Path) -> Any:
    """The module of a file of the corpus."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def numpy_entries() -> list[Any]:
    """The honest operators of the corpus that are plain NumPy, on one or two matrices."""
    found = []
    for entry in CORPUS:
        file, _, name = entry.operator.partition(":")
        if entry.expected == "ok" and file.endswith(".py") and not entry.shape:
            found.append(pytest.param(entry, id=name, marks=pytest.mark.slow))
    return found


@pytest.mark.parametrize("entry", numpy_entries())
def test_no_honest_kernel_of_the_corpus_is_accused(entry: Any, tmp_path: Path) -> None:
    corpus = HERE.parent / "corpus"
    file, _, name = entry.operator.partition(":")
    source = corpus / file
    references = loaded(corpus / "references.py")
    count = getattr(references, entry.reference).__code__.co_argcount
    low, high = getattr(getattr(loaded(source), name), "domain", (0.1, 0.9))
    high = min(high, low + 0.8)
    problem = tmp_path / "problem.py"
    told = CORPUS_PROBLEM.format(
        count=count, reference=entry.reference, low=low, high=high
    )
    problem.write_text((corpus / "references.py").read_text() + told)
    (tmp_path / source.name).write_text(source.read_text())
    kernel = tmp_path / "entry.py"
    kernel.write_text(CORPUS_KERNEL.format(module=source.stem, name=name))
    folder = opened(tmp_path / "cup", problem, visits=2, calls=5)
    outcome = judged(folder, kernel)
    assert outcome.judgement.accepted, outcome.judgement


def problem() -> KernelProblem:
    return KernelProblem(lambda rng: [rng.standard_normal(3)], lambda x: 2 * x)


@pytest.mark.parametrize(
    "got, worst",
    [
        ([1.0, np.inf, np.nan], 0.0),
        ([1.0 + 1.01e-4, np.inf, np.nan], 1.0),
        ([1.0, 5.0, np.nan], np.inf),
        ([1.0, np.inf, 0.0], np.inf),
        ([np.nan, np.inf, np.nan], np.inf),
    ],
)
def test_the_worst_error(got: list[float], worst: float) -> None:
    expected = np.array([[1.0, np.inf, np.nan]])
    found = problem().worst([np.array([got])], [expected])
    if np.isinf(worst) or worst == 0:
        assert found == worst or found > 1e300
    else:
        assert found == pytest.approx(worst, rel=1e-3)


GOOD = "import numpy as np\ndef inputs(rng): return rng.random(3)\ndef reference(x): return x\n"
PROBLEMS = {
    "inputs = 3\n": "no function 'inputs'",
    "def f(:\n": "cannot be read: SyntaxError",
    "raise SystemExit(0)\n": "cannot be read: SystemExit",
    GOOD + "TOLERANCE = ('a', 'b')\n": "TOLERANCE .* give .relative, absolute.",
    GOOD + "TOLERANCE = (-1.0, 0.0)\n": "TOLERANCE .* numbers from 0",
    GOOD.replace("rng.random(3)", "None"): "inputs of the problem .* no array",
    GOOD.replace("rng.random(3)", "()"): "inputs of the problem .* no array",
    GOOD.replace("return x", "return 'x'"): "reference of the problem .* no array",
    GOOD.replace("return x", "return x / y"): "cannot be posed: NameError.* line 3",
    GOOD.replace("(x)", "()"): "cannot be posed: TypeError",
}


@pytest.mark.parametrize("text", PROBLEMS)
def test_a_problem_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    from deep500.contest.kernel_referee import problem_file

    file = tmp_path / "problem.py"
    file.write_text(text)
    with pytest.raises(Deep500Error, match=PROBLEMS[text]):
        problem_file(file)
