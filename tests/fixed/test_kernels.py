"""The kernels: the same bits for every set of instructions, number of rows and threads; and what IEEE 754 says."""

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from deep500 import elementary
from deep500.bench.elementary.functions import FUNCTIONS, every_kind
from deep500.errors import Deep500Error
from deep500.fixed import library
from deep500.fixed.library import CHOICE, available_sets, select
from deep500.fixed.namespace import FixedNamespace, NotFixed
from deep500.fixed.products import matmul
from deep500.fixed.sums import Target
from deep500.frameworks import framework

XP = FixedNamespace()


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    yield select
    select()


def numbers(random: np.random.Generator, *shape: int) -> np.ndarray:
    """Of many magnitudes, so that every rounding shows."""
    scale = 10.0 ** random.integers(-4, 4, shape)
    return (random.standard_normal(shape) * scale).astype(np.float32)


def on_all_sets(monkeypatch: pytest.MonkeyPatch, compute: Callable[[], Any]) -> Any:
    """What a function returns, which must be the same bytes for every set of instructions."""
    results = {}
    for name in available_sets():
        monkeypatch.setenv(CHOICE, name)
        select()
        results[name] = compute()
    monkeypatch.delenv(CHOICE)
    select()
    first, *others = results.values()
    for other in others:
        assert len(first) == len(other)
        for mine, theirs in zip(first, other, strict=True):
            assert mine.tobytes() == theirs.tobytes()
    return first


def fused_chain(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A product by the C library's fused multiply-add, in the order of the inner axis."""
    fmaf = ctypes.CDLL("libm.so.6").fmaf
    fmaf.argtypes, fmaf.restype = [ctypes.c_float] * 3, ctypes.c_float
    y = np.zeros((len(a), b.shape[1]), np.float32)
    for i, j in np.ndindex(y.shape):
        total = 0.0
        for k in range(a.shape[1]):
            total = fmaf(a[i, k], b[k, j], total)
        y[i, j] = total
    return y


SHAPES = [(1, 1, 1), (3, 5, 7), (13, 33, 9), (25, 16, 4), (2, 70, 3)]


@pytest.mark.parametrize("shape", SHAPES)
def test_products_are_chains_of_fused_multiply_adds(
    shape: tuple[int, int, int],
    random: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    m, n, depth = shape
    a, b = numbers(random, m, depth), numbers(random, depth, n)
    turned = [np.ascontiguousarray(x.T).T for x in (a, b)]

    def compute() -> list[np.ndarray]:
        return [matmul(a, b), matmul(turned[0], b), matmul(a, turned[1])]

    for y in on_all_sets(monkeypatch, compute):
        assert y.tobytes() == fused_chain(a, b).tobytes()


@pytest.mark.parametrize("depth", [64, 300, 700])
def test_products_do_not_depend_on_rows_or_threads(
    depth: int, random: np.random.Generator, threads: Callable[[int], None]
) -> None:
    a, b = numbers(random, 150, depth), numbers(random, depth, 90)
    whole = matmul(a, b)
    for start, stop in ((0, 1), (5, 18), (17, 150)):
        assert matmul(a[start:stop], b).tobytes() == whole[start:stop].tobytes()
    threads(3)
    assert matmul(a, b).tobytes() == whole.tobytes()
    exact = a.astype(np.float64) @ b.astype(np.float64)
    size = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    assert (np.abs(whole - exact) <= depth * 2.0**-24 * size).all()


def test_stacks_and_biases(random: np.random.Generator) -> None:
    a, b = numbers(random, 2, 3, 4, 5), numbers(random, 3, 5, 6)
    y = matmul(a, b)
    for i, j in np.ndindex(2, 3):
        assert y[i, j].tobytes() == matmul(a[i, j], b[j]).tobytes()
    bias = numbers(random, 6)
    difference = matmul(a[0, 0], b[0], bias) - (y[0, 0] + bias)
    assert np.abs(difference).max() <= 1e-5 * np.abs(y).max()


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "erf", "sigmoid"])
def test_functions_have_the_bits_of_elementary(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    [x] = every_kind(FUNCTIONS[name], "float32", 20_000, 0)
    operator = getattr(elementary, FUNCTIONS[name].operator)()
    [expected] = framework("reference").evaluate(operator, [x])
    [y] = on_all_sets(monkeypatch, lambda: [getattr(XP, name)(x)])
    is_nan = np.isnan(expected)
    assert (np.isnan(y) == is_nan).all()
    assert y[~is_nan].tobytes() == expected[~is_nan].tobytes()


def test_random_numbers_are_those_of_every_framework() -> None:
    xp = framework("reference").xp
    for shape in ((4, 7), (3, 2, 5), (5,), (6, 1)):
        for first_row, rows in ((0, 1), (8, shape[0])):
            key = np.array([0xFFFFFFF1, 77, first_row, rows], np.int64)
            mine, theirs = XP.uniform(key, shape), xp.uniform(key, shape)
            assert mine.tobytes() == theirs.tobytes()


def test_sums_are_of_sixteen_parts(
    random: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = numbers(random, 5, 77)
    [y] = on_all_sets(monkeypatch, lambda: [XP.sum(x, axis=1)])
    for row, total in zip(x, y, strict=True):
        parts = np.zeros(16, np.float32)
        for start in range(0, 77, 16):
            piece = row[start : start + 16]
            parts[: len(piece)] += piece
        while len(parts) > 1:
            parts = parts[: len(parts) // 2] + parts[len(parts) // 2 :]
        assert parts[0] == total
    assert XP.sum(x, axis=0).tobytes() == XP.sum(x.T.copy(), axis=1).tobytes()
    assert XP.sum(x, axis=(0, 1), keepdims=True).shape == (1, 1)


def test_leaves_are_added_as_whole_numbers(
    random: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = random.standard_normal((2, 40, 9)).astype(np.float32)

    def compute() -> list[np.ndarray]:
        total = np.zeros((9, 9), np.int64)
        Target(total, 2.0**40, 2.0**51).add_products(a, b, 16)
        turned = np.zeros((9, 9), np.int64)
        Target(turned.T, 2.0**40, 2.0**51).add_products(a, b, 16)
        return [total, turned.T.copy()]

    total, turned = on_all_sets(monkeypatch, compute)
    parts = [matmul(a[i : i + 16].T, b[i : i + 16]) for i in (0, 16, 32)]
    expected = sum(np.rint(part.astype(np.float64) * 2.0**40) for part in parts)
    assert (total == expected).all()
    assert (np.abs(turned - total) <= 2.0**40 * 1e-5).all()


@pytest.mark.parametrize(("value", "reported"), [(3e3, 3e3), (np.nan, np.nan)])
def test_what_is_beyond_the_range_is_reported(value: float, reported: float) -> None:
    target = Target(np.zeros(40, np.int64), 2.0**40, 2.0**51)
    x = np.ones((3, 40), np.float32)
    target.add_rows(x)
    assert target.beyond[0] == 0
    x[1, 33] = value
    target.add_rows(x)
    assert np.array_equal(target.beyond, [reported], equal_nan=True)


@pytest.mark.parametrize("name", ["sin", "cos", "pow", "einsum"])
def test_functions_without_fixed_bits_are_refused(name: str) -> None:
    with pytest.raises(NotFixed, match=f"{name} has no kernel with fixed bits"):
        getattr(XP, name)(np.ones(3, np.float32))


def test_other_floats_are_refused() -> None:
    with pytest.raises(NotFixed, match="exp of float64"):
        XP.exp(np.ones(3))


def test_a_wrong_set_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHOICE, "avx3")
    with pytest.raises(Deep500Error, match="Did you mean 'avx2'"):
        select()
    monkeypatch.setattr(library, "available_sets", lambda: ("baseline",))
    monkeypatch.setenv(CHOICE, "avx512")
    with pytest.raises(Deep500Error, match="this processor lacks: choose baseline"):
        select()
