"""Dtypes on every framework: those that it declares it holds and converts, those that it does not it refuses."""

import re
from pathlib import Path

import numpy as np
import pytest

from deep500.contracts.dtypes import (
    ALL,
    FLOAT8,
    NUMBERS,
    PLAIN,
    bits,
    limits,
    listed,
    name_of,
)
from deep500.contracts.framework import Framework
from deep500.contracts.network import Network
from deep500.contracts.operator import TensorSpec
from deep500.errors import Deep500Error, Unsupported
from deep500.frameworks import framework
from deep500.operators import (
    Add,
    BitCast,
    BitShift,
    Cast,
    Dropout,
    MatMul,
    Mod,
    QuantizeLinear,
    Range,
    Relu,
    Sigmoid,
)

NAMES = ["reference", "pytorch", "jax", "tensorflow", "onnxruntime"]
VALUES = np.array(
    [0, 0.3, 1, -1.7, 2.5, 3.5, 100, -1e3, 1e6, np.inf, -np.inf, np.nan], "float32"
)


@pytest.fixture(
    params=[pytest.param(n, marks=pytest.mark.slow) if n == "jax" else n for n in NAMES]
)  # it compiles
def fw(request: pytest.FixtureRequest) -> Framework:
    if not (found := framework(request.param)).available():
        pytest.skip(f"{request.param} is not installed")
    found.set_threads(1)
    return found


def values(dtype: str) -> np.ndarray:
    """Some of this dtype's numbers: for integers, those that it has."""
    if "int" in dtype:
        low, high = limits(dtype)
        return np.array(
            [v for v in (-3, -2, -1, 0, 1, 2, 3, 7) if low <= v <= high], "float32"
        )
    return (
        np.abs(VALUES[1:7])
        if dtype == "float8_e8m0fnu"
        else VALUES[:7]
        if "4" in dtype[:7]
        else VALUES
    )


def converted(x: np.ndarray, dtype: str) -> np.ndarray:
    with np.errstate(over="ignore"):
        return x.astype(dtype)


def same(a: np.ndarray, b: np.ndarray) -> bool:
    with np.errstate(invalid="ignore"):  # a NaN may be a signalling one
        return a.dtype == b.dtype and np.array_equal(
            a.astype("float64"), b.astype("float64"), equal_nan=True
        )


def in_range(x: np.ndarray, dtype: str, saturate: bool) -> np.ndarray:
    return (
        np.clip(x, -FLOAT8[dtype], FLOAT8[dtype]) if saturate and dtype in FLOAT8 else x
    )


def test_every_declared_dtype_is_held(fw: Framework) -> None:
    for dtype in sorted(fw.dtypes):
        x = converted(values(dtype), dtype)
        for part in (x, x[:5], x[:0], x[:4].reshape(2, 2)[:, :1]):
            assert same(fw.array(fw.tensor(part)), part), dtype


@pytest.mark.parametrize("saturate", [1, 0])
def test_every_declared_dtype_is_converted(fw: Framework, saturate: int) -> None:
    for dtype in sorted(
        fw.dtypes - {"bool", "float8_e8m0fnu"} if saturate else fw.dtypes & {*FLOAT8}
    ):
        x = values(dtype)
        narrow = fw.evaluate(Cast(to=NUMBERS[dtype], saturate=saturate), [x])[0]
        assert same(narrow, converted(in_range(x, dtype, bool(saturate)), dtype)), dtype
        assert same(fw.evaluate(Cast(to=1), [narrow])[0], narrow.astype("float32")), (
            dtype
        )


def test_other_dtypes_are_refused_by_name(fw: Framework) -> None:
    for dtype in sorted(ALL - fw.dtypes):
        network = Network()
        network.add_input("x", (2,), dtype)
        network.add_output("x")
        for attempt in (
            lambda d=dtype: fw.tensor(np.zeros(2, d)),
            lambda n=network: fw.executor(n),
            lambda d=dtype: fw.evaluate(Cast(to=NUMBERS[d]), [np.zeros(2, "float32")]),
        ):
            with pytest.raises(
                Unsupported, match=f"^{fw.name} has no {dtype}; it has float64, float32"
            ):
                attempt()


@pytest.mark.parametrize(
    ("mode", "right"),
    [
        ("up", [0.5, 1, 2, 4, 2.0**-127]),
        ("down", [0.25, 1, 1, 2, 2.0**-127]),
        ("nearest", [0.5, 1, 2, 4, 2.0**-127]),
    ],
)
def test_powers_of_two_round_as_asked(
    fw: Framework, mode: str, right: list[float]
) -> None:
    if "float8_e8m0fnu" not in fw.dtypes:
        pytest.skip("no such dtype")
    x = np.array([-0.4, 1, 1.5, 3, 0], "float32")
    (got,) = fw.evaluate(Cast(to=24, round_mode=mode), [x])
    assert got.astype("float64").tolist() == right


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_as_exact_as_it_can_be(fw: Framework, dtype: str) -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(shape).astype(dtype) for shape in ((5, 8), (8, 3)))
    wide, eps = (
        (a.astype("float64"), b.astype("float64")),
        2.0**-10 if dtype == "float16" else 2.0**-7,
    )
    for operator, inputs, right in [
        (MatMul(), [a, b], wide[0] @ wide[1]),
        (Sigmoid(), [a], 1 / (1 + np.exp(-wide[0]))),
        (Relu(), [a], np.maximum(wide[0], 0)),
    ]:
        (got,) = fw.evaluate(operator, inputs)
        size = np.abs(wide[0]) @ np.abs(wide[1]) if len(inputs) == 2 else np.abs(right)
        assert got.dtype == dtype
        assert np.all(np.abs(got.astype("float64") - right) <= 2 * eps * size)
        assert not np.all(
            np.abs(got.astype("float64") * (1 + 8 * eps) - right) <= 2 * eps * size
        )  # a planted error


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_the_reference_rounds_half_precision_once(dtype: str) -> None:
    reference, x = framework("reference"), np.linspace(-6, 6, 999).astype(dtype)
    once = reference.evaluate(Sigmoid(), [x.astype("float32")])[0].astype(dtype)
    assert same(reference.evaluate(Sigmoid(), [x])[0], once)
    # step by step it is not the same
    assert not same(Sigmoid().run(reference.xp, x)[0].astype(dtype), once)
    (gradient,) = reference.gradient(Sigmoid(), [x], [np.ones_like(x)])
    (wide,) = reference.gradient(
        Sigmoid(), [x.astype("float32")], [np.ones(999, "float32")]
    )
    assert (
        gradient is not None and wide is not None and same(gradient, wide.astype(dtype))
    )


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8"])
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_shifts_are_those_of_unbounded_integers(
    fw: Framework, dtype: str, direction: str
) -> None:
    low, high = limits(dtype)
    x = (
        np.array([low, low // 3, -1, 0, 5, high], "object")
        .clip(low, high)
        .astype(dtype)
    )
    by = np.array([[0], [1], [bits(dtype) - 1], [bits(dtype)], [100]]).astype(dtype)
    (got,) = fw.evaluate(BitShift(direction=direction), [x, by])
    moved = [
        [int(v) << int(n) if direction == "LEFT" else int(v) >> int(n) for v in x]
        for n in by[:, 0]
    ]
    wrapped = [[(v - low) % 2 ** bits(dtype) + low for v in row] for row in moved]
    assert got.dtype == dtype and got.tolist() == wrapped


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float32", "float64", "int16", "int32", "int64"]
)
def test_ranges_have_the_dtype_of_their_start(fw: Framework, dtype: str) -> None:
    # what is kept of this is not taken for what follows
    fw.evaluate(Range(), [1, 9, 3], composed=True)
    numbers = [np.array(v).astype(dtype)[()] for v in (1, 9, 3)]
    (got,) = fw.evaluate(Range(), numbers, composed=True)
    assert got.dtype == dtype and got.tolist() == [1, 4, 7]


def test_remainders_of_floats_have_the_sign_of_the_divisor(fw: Framework) -> None:
    a, b = (
        np.array([-4.3, 7.2, 5.0, 4.3], "float32"),
        np.array([2.1, -3.4, 8.0, -2.1], "float32"),
    )
    np.testing.assert_allclose(
        fw.evaluate(Mod(), [a, b])[0],
        a - b * np.floor(a.astype("float64") / b),
        rtol=1e-5,
    )


def test_bits_stay_what_they_are(fw: Framework) -> None:
    x = np.array([-1, 5, -128], "int8")
    assert fw.evaluate(BitCast(to=2), [x])[0].tolist() == [255, 5, 128]
    if fw.name == "onnxruntime":
        with pytest.raises(Unsupported, match="the bits of float32 for int32"):
            fw.evaluate(BitCast(to=6), [np.ones(2, "float32")])
    else:
        assert (
            fw.evaluate(BitCast(to=6), [np.ones(2, "float32")])[0].tolist()
            == [0x3F800000] * 2
        )
    with pytest.raises(Deep500Error, match="int8 has 8 bits, int32 32"):
        fw.evaluate(BitCast(to=6), [x])


def test_the_bits_of_one_half_precision_are_another(fw: Framework) -> None:
    if fw.name != "onnxruntime":
        x = np.array([1.5, -2.0], "float16")
        assert same(fw.evaluate(BitCast(to=16), [x])[0], x.view("bfloat16"))


F = np.ones((2, 3), "float32")


@pytest.mark.parametrize(
    ("operator", "inputs"),
    [
        (Add(), [F, np.ones((4,), "float32")]),
        (MatMul(), [F, F]),
        (BitShift(direction="LEFT"), [F, F]),
        (QuantizeLinear(), [F, np.ones((5,), "float32")]),
    ],
)
def test_wrong_inputs_of_an_operator_are_one_line(
    fw: Framework, operator, inputs
) -> None:
    with pytest.raises(Deep500Error) as caught:
        fw.evaluate(operator, inputs)
    text = str(caught.value)
    assert "\n" not in text and len(text) < 500
    assert text.startswith(
        f"{fw.name} cannot compute {type(operator).__name__}(float32[2, 3], "
    )


def test_wrong_gradients_of_an_operator_are_one_line(fw: Framework) -> None:
    with pytest.raises(
        Deep500Error,
        match=rf"^{fw.name} cannot compute MatMul\(float32\[2, 3\], .*\)[^\n]*$",
    ):
        fw.gradient(MatMul(), [F, F.T], [np.ones((7, 5), "float32")])
    with pytest.raises(Deep500Error, match="takes no key"):
        fw.evaluate(Relu(), [F], key=[1, 2])


def test_right_inputs_say_nothing(fw: Framework) -> None:
    assert fw.evaluate(Add(), [F, F])[0].tolist() == [[2.0] * 3] * 2
    assert fw.evaluate(Dropout(), [F])[0].shape == (2, 3)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_of_limits_lists_what_is_declared(name: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "limits.md").read_text()
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in page.partition("## ONNX files")[0].splitlines()
        if line.startswith("|")
    ]
    column = rows[0].index(name)
    there = {
        dtype for row in rows[2:] if row[column] == "✓" for dtype in row[0].split(", ")
    }
    listed_at_all = {dtype for row in rows[2:] for dtype in row[0].split(", ")}
    assert there == framework(name).dtypes
    assert listed_at_all == ALL


def test_facts_about_dtypes() -> None:
    assert {name: np.dtype(name).name for name in ALL} == {name: name for name in ALL}
    assert {
        np.dtype(n).itemsize * 8 for n in PLAIN if bits(n) != np.dtype(n).itemsize * 8
    } == set()
    assert (
        limits("int4") == (-8, 7)
        and limits("uint2") == (0, 3)
        and limits("int64") == (-(2**63), 2**63 - 1)
    )
    assert (
        TensorSpec((3,), "int4").nbytes == 2
        and TensorSpec((2, 3), "float8_e4m3fn").nbytes == 6
    )
    assert [
        name_of(d) for d in ("torch.int8", "<dtype: 'bfloat16'>", np.dtype("bool"))
    ] == [
        "int8",
        "bfloat16",
        "bool",
    ]
    assert re.match("float64, float32, ", listed(ALL))
