"""The corpus says what is so: wrong operators are wrong, honest ones are right, found without any check."""

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from deep500.errors import Deep500Error

from .catalogue import CORPUS, HONEST, WRONG, Entry
from .subjects import FOLDER, Subject, widened

MOST_UNTELLABLE = 0.03

# Calls an operator that stands for tanh where neither a check nor a reference is, and says "right" if the answer is.
ALONE = """
import math, runpy, sys
import numpy as np
operator = runpy.run_path(sys.argv[1])[sys.argv[2]]()
values = [i / 10 for i in range(1, 25)]
found = [np.asarray(operator.forward([np.array(values)])) for _ in range(2)]
want = [math.tanh(x) for x in values]
for y in found:
    assert y.shape == (24,)
    y = y.tolist()
    for i in range(24):
        assert math.fabs(y[i] - want[i]) < 1e-9
print("right")
"""


def by_language(entries: list[Entry]) -> list:
    """As parameters of a test; what is compiled first is slow."""
    return [
        pytest.param(e, id=e.name, marks=[pytest.mark.slow] * (".cpp" in e.operator))
        for e in entries
    ]


def test_the_corpus_is_large_enough() -> None:
    assert len(WRONG) >= 64 and len(HONEST) >= 60
    missed = [e for e in WRONG if e.missed]
    assert len(missed) <= MOST_UNTELLABLE * len(WRONG)
    twice = [place for place, n in Counter(e.operator for e in CORPUS).items() if n > 1]
    assert twice == []


def test_every_file_is_in_the_catalogue() -> None:
    named = {e.operator.rpartition(":")[0] for e in CORPUS}
    there = {
        path.relative_to(FOLDER).as_posix() for path in FOLDER.glob("*/*.[pc][yp]*")
    }
    assert {file for file in there if "__pycache__" not in file} == named


@pytest.mark.parametrize("entry", by_language([e for e in WRONG if e.witness]))
def test_a_wrong_operator_is_wrong(entry: Entry) -> None:
    assert entry.witness(Subject(entry.operator, entry.reference))


@pytest.mark.slow
@pytest.mark.parametrize("entry", by_language([e for e in WRONG if not e.witness]))
def test_a_cheat_is_wrong_in_a_clean_process(entry: Entry) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALONE, *entry.operator.split(":")],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "right" not in done.stdout.splitlines()


def drawn(subject: Subject, shape: str, seed: int, dtype: str) -> list[np.ndarray]:
    """Normal numbers, or some of the domain, of the shapes that the catalogue names."""
    draw = np.random.default_rng(seed)
    words = shape.split(",") if shape else ["4x6"] * count(subject)
    return [one(word, subject.domain, draw, dtype) for word in words]


def one(
    word: str, domain: tuple | None, draw: np.random.Generator, dtype: str
) -> np.ndarray:
    kind, _, sizes = word.rpartition(":")
    shape = tuple(map(int, sizes.split("x")))
    if kind == "bool":
        return draw.integers(0, 2, shape).astype(bool)
    if kind:
        return draw.integers(0, int(kind.partition("<")[2] or 9), shape)
    if domain is None:
        return np.asarray(draw.standard_normal(shape) * 3).astype(dtype)
    low, high = max(domain[0], -3), min(domain[1], 3)
    return np.asarray(draw.uniform(low, high, shape)).astype(dtype)


def count(subject: Subject) -> int:
    return subject.truth.__code__.co_argcount


SPECIAL = [
    np.nan,
    np.inf,
    -np.inf,
    0.0,
    -0.0,
    1e-40,
    -1e-40,
    1e30,
    -1e30,
    1e-30,
    1.0,
    0.5,
    2.5,
]


def assert_right(subject: Subject, inputs: list[np.ndarray]) -> None:
    want = subject.reference(inputs)
    before = [x.tobytes() for x in inputs]
    found = subject.forward(inputs)
    assert [x.tobytes() for x in inputs] == before
    assert len(found) == len(want)
    for y, truth in zip(found, want, strict=True):
        assert y.shape == truth.shape and y.dtype.kind == truth.dtype.kind
        if truth.dtype.kind == "f":
            assert y.dtype == truth.dtype
            eps = float(np.finfo(y.dtype).eps)
            finite = truth[np.isfinite(truth)]
            scale = np.max(np.abs(finite), initial=0)
            np.testing.assert_allclose(y, truth, rtol=300 * eps, atol=300 * eps * scale)
        else:
            np.testing.assert_array_equal(y, truth)


@pytest.mark.parametrize("entry", by_language(HONEST))
def test_an_honest_operator_is_right(entry: Entry) -> None:
    subject = Subject(entry.operator, entry.reference)
    for seed in range(3):
        for dtype in ("float32", "float64"):
            assert_right(subject, drawn(subject, entry.shape, seed, dtype))


@pytest.mark.parametrize("entry", by_language([e for e in HONEST if not e.shape]))
def test_an_honest_operator_is_right_at_special_values(entry: Entry) -> None:
    """Where it declares no domain: values that are not finite, denormal, tied; rows, columns, one element, none."""
    subject = Subject(entry.operator, entry.reference)
    if subject.domain is not None:
        return
    draw = np.random.default_rng(2)
    for dtype in ("float32", "float64"):
        for shape in [
            (4, 6),
            (1, 1),
            (3, 5),
            (2, 3, 4),
            (1, 7),
            (6, 1),
            (0, 3),
            (2, 0),
        ]:
            plain = [np.ones(shape, dtype)] * count(subject)
            special = [draw.choice(SPECIAL, shape).astype(dtype) for _ in plain]
            for inputs in (plain, special):
                if takes(subject, inputs):
                    assert_right(subject, inputs)


def takes(subject: Subject, inputs: list[np.ndarray]) -> bool:
    """Whether both the reference and the operator have a value there."""
    try:
        subject.reference(inputs)
    except ValueError:
        return False
    try:
        subject.forward(inputs)
    except (ValueError, Deep500Error):
        return False
    return True


@pytest.mark.parametrize("entry", by_language(HONEST))
def test_the_gradient_of_an_honest_operator_is_right(entry: Entry) -> None:
    subject = Subject(entry.operator, entry.reference)
    if not subject.differentiable:
        return
    inputs = drawn(subject, entry.shape, 11, "float64")
    outputs = subject.forward(inputs)
    draw = np.random.default_rng(4)
    grads = [np.asarray(draw.standard_normal(y.shape)) for y in outputs]
    given = [*grads, *inputs, *outputs]
    before = [array.tobytes() for array in given]
    found = subject.backward(grads, inputs, outputs)
    assert [array.tobytes() for array in given] == before
    assert len(found) == len(inputs)
    for i, (gradient, x) in enumerate(zip(found, inputs, strict=True)):
        if x.dtype.kind != "f":
            assert gradient is None
            continue
        want = subject.slope(grads, inputs, i)
        np.testing.assert_allclose(
            widened(np.asarray(gradient)), want, rtol=1e-5, atol=1e-6
        )
