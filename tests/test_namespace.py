"""Every function of the namespace, on every adapter, in float32 and float64, against NumPy written down here."""

import itertools
import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deep500.errors import Unsupported
from deep500.frameworks import framework
from deep500.frameworks.reference.namespace import NumpyNamespace
from deep500.namespace import Namespace, count, ints, slice_axis, window_counts

NO_FUNCTIONS = {"threads", "calls_back"}
CORE = set(Namespace.__annotations__) - NO_FUNCTIONS
DERIVED = {name for name in vars(Namespace) if not name.startswith("_")} - {
    "host",
    "nonzero",
    *NO_FUNCTIONS,
}
TOLERANCE = {"float32": 3e-6, "float64": 1e-13}

# What an adapter cannot do: (adapter, dtype, case) and why. A gap that has closed fails the test of gaps.
GAPS = {
    (
        "onnxruntime",
        "float64",
        name,
    ): "ONNX Runtime's kernel on the CPU takes float32 only"
    for name in ("erf", "asin", "acos", "atan")
}


class CoreOnly(NumpyNamespace):
    """NumPy without any override: what follows from the core alone."""


for _name in DERIVED:
    setattr(CoreOnly, _name, vars(Namespace)[_name])

ADAPTERS = ["core only", "reference", "pytorch", "jax", "tensorflow", "onnxruntime"]


def run(
    adapter: str | Namespace, f: Callable, arrays: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """f(xp, *arrays) on an adapter, as NumPy arrays; on ONNX Runtime recorded, built and run; on JAX compiled."""
    if adapter == "onnxruntime":
        return _recorded_run(f, arrays)
    if isinstance(adapter, Namespace) or adapter == "core only":
        xp = CoreOnly() if isinstance(adapter, str) else adapter
        return [np.asarray(y) for y in _flat(f(xp, *arrays))]
    fw = framework(adapter)
    fw.set_threads(1)
    call = partial(f, fw.xp)
    return [
        fw.array(y)
        for y in _flat(
            (fw.module.jit(call) if adapter == "jax" else call)(*map(fw.tensor, arrays))
        )
    ]


def _recorded_run(f: Callable, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    fw = framework("onnxruntime")
    fw.set_threads(1)
    from deep500.onnx.recording.arrays import argument, build

    inputs = {f"i{k}": argument(a.shape, a.dtype) for k, a in enumerate(arrays)}
    outputs = {f"o{k}": y for k, y in enumerate(_flat(f(fw.xp, *inputs.values())))}
    session = fw.session(build(inputs, outputs))  # type: ignore[attr-defined]
    return session.run(None, {f"i{k}": a for k, a in enumerate(arrays)})


def _flat(result: Any) -> list:
    return (
        [y for part in result for y in _flat(part)]
        if isinstance(result, tuple | list)
        else [result]
    )


@dataclass(frozen=True)
class Example:
    """A call, its inputs (shapes of normal floats, or arrays as they are) and the NumPy that says what is right.

    The oracle gets float inputs in float64; a float64 result of it stands for the dtype under test.
    """

    name: str
    call: Callable
    inputs: tuple
    oracle: Callable
    positive: bool = False

    def arrays(self, dtype: str) -> list[np.ndarray]:
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        made = []
        for wanted in self.inputs:
            values = (
                wanted
                if isinstance(wanted, np.ndarray)
                else rng.standard_normal(wanted).astype(dtype) * 2
            )
            made.append(
                np.abs(values) + np.asarray(0.5, dtype) if self.positive else values
            )
        return made


def check(adapter: str | Namespace, example: Example, dtype: str) -> None:
    arrays = example.arrays(dtype)
    wide = [a.astype("float64") if a.dtype.kind == "f" else a for a in arrays]
    wanted = [np.asarray(w) for w in _flat(example.oracle(*wide))]
    for got, want in zip(run(adapter, example.call, arrays), wanted, strict=True):
        assert got.dtype == (dtype if want.dtype == np.float64 else want.dtype)
        assert got.shape == want.shape
        limit = TOLERANCE[dtype] if want.dtype == np.float64 else 0
        np.testing.assert_allclose(got.astype(want.dtype), want, rtol=limit, atol=limit)


# -- oracles, as plain as can be


def erf(x: np.ndarray) -> np.ndarray:
    return np.vectorize(math.erf)(x)


def windows(
    x: np.ndarray,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> np.ndarray:
    n = len(kernel)
    counts = [
        len(range(0, size - d * (k - 1), s))
        for size, k, s, d in zip(x.shape[-n:], kernel, strides, dilations, strict=True)
    ]
    out = np.zeros((*x.shape[:-n], *counts, *kernel), x.dtype)
    for at in np.ndindex(*counts):
        for inside in np.ndindex(*kernel):
            place = [
                a * s + i * d
                for a, s, i, d in zip(at, strides, inside, dilations, strict=True)
            ]
            out[(..., *at, *inside)] = x[(..., *place)]
    return out


def fold(
    w: np.ndarray,
    shape: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> np.ndarray:
    n = len(shape)
    out = np.zeros((*w.shape[: -2 * n], *shape), w.dtype)
    for at in np.ndindex(*w.shape[-2 * n : -n]):
        for inside in np.ndindex(*w.shape[-n:]):
            place = [
                a * s + i * d
                for a, s, i, d in zip(at, strides, inside, dilations, strict=True)
            ]
            out[(..., *place)] += w[(..., *at, *inside)]
    return out


def conv(
    x: np.ndarray,
    w: np.ndarray,
    strides: Sequence[int],
    pads: Sequence[tuple[int, int]],
    dilations: Sequence[int],
    groups: int = 1,
) -> np.ndarray:
    v = windows(np.pad(x, [(0, 0), (0, 0), *pads]), w.shape[2:], strides, dilations)
    n, per, features = len(strides), w.shape[1], w.shape[0] // groups
    y = np.zeros((x.shape[0], w.shape[0], *v.shape[2 : 2 + n]), x.dtype)
    for m in range(w.shape[0]):
        first = m // features * per
        for c in range(per):
            y[:, m] += (v[:, first + c] * w[m, c]).sum(axis=tuple(range(-n, 0)))
    return y


def by_basis(
    linear: Callable[[np.ndarray], np.ndarray], shape: Sequence[int], y: np.ndarray
) -> np.ndarray:
    """The adjoint of a linear function, from its values on every basis vector."""
    out = np.zeros(shape)
    for at in np.ndindex(*shape):
        basis = np.zeros(shape)
        basis[at] = 1
        out[at] = np.sum(linear(basis) * y)
    return out


def threefry(
    key: np.ndarray, a: np.ndarray, b: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Threefry-2x32-20 in 32-bit words that wrap around by themselves."""
    key, a, b = (np.asarray(v).astype("uint32") for v in (key, a, b))
    keys = [key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA)]
    a, b = a + keys[0:1][0], b + keys[1:2][0]
    for r in range(20):
        by = np.uint32((13, 15, 26, 6, 17, 29, 16, 24)[r % 8])
        a = a + b
        b = ((b << by) | (b >> (np.uint32(32) - by))) ^ a
        if r % 4 == 3:
            k = r // 4 + 1
            a, b = a + keys[k % 3], b + keys[(k + 1) % 3] + np.uint32(k)
    return a.astype("int64"), b.astype("int64")


def uniform(key: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Row by row: the counter is the row in the whole batch, and the place in the row."""
    rows, width = (shape[0] if shape else 1), math.prod(shape[1:])
    first, examples = int(key[2]), int(key[3])
    places = np.arange((width + 1) // 2)
    drawn = np.empty((rows, width), "float32")
    for i in range(rows):
        row = np.full_like(places, first * rows // examples + i)
        bits = np.concatenate(threefry(key[:2], row, places))[:width]
        drawn[i] = (bits // 256).astype("float32") / np.float32(2**24)
    return drawn.reshape(shape)


def recurrence(xp: Any, h: Any, x: Any) -> tuple:
    return xp.scan(
        lambda carry, row: (
            (xp.tanh(carry[0] + row[0]), carry[1] * 0.5),
            (carry[0] * 2,),
        ),
        (h, h),
        (x,),
        5,
    )


def recurrence_oracle(h: np.ndarray, x: np.ndarray) -> tuple:
    a, b, ys = h, h, []
    for row in x:
        ys.append(a * 2)
        a, b = np.tanh(a + row), b / 2
    return a, b, np.array(ys)


KEY = np.array([12345, 2**32 - 7, 6, 3], "int64")
WORDS = np.array([0, 1, 0xFFFFFFFF, 0x9E3779B9, 0x80000000])
INTS = np.array([[-7, -2, 0], [3, 8, 5]])
MASK, OTHER = np.array([[True, False], [True, True]]), np.array([True, False])
WHERE = ((2, 1), [(1, 0), (2, 1)], (1, 2))  # strides, pads, dilations

UNARY = [
    Example(name, lambda xp, x, name=name: getattr(xp, name)(x), ((3, 4),), oracle)  # type: ignore[arg-type]
    for name, oracle in {
        "abs": np.abs,
        "exp": np.exp,
        "sin": np.sin,
        "cos": np.cos,
        "tanh": np.tanh,
        "sign": np.sign,
        "erf": erf,
        "atan": np.atan,
        "sinh": np.sinh,
        "cosh": np.cosh,
        "expm1": np.expm1,
        "floor": np.floor,
        "square": np.square,
        "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "relu": lambda x: np.where(x > 0, x, 0),
        "zeros_like": np.zeros_like,
        "ones_like": np.ones_like,
    }.items()
]
UNARY += [
    Example(
        name,
        lambda xp, x, name=name: getattr(xp, name)(x),
        ((3, 4),),
        oracle,
        positive=True,
    )
    for name, oracle in {
        "log": np.log,
        "log1p": np.log1p,
        "sqrt": np.sqrt,
        "reciprocal": np.reciprocal,
    }.items()
]
REDUCTIONS = [
    Example(
        f"{name} {axis} {keep}",
        lambda xp, x, n=name, a=axis, k=keep: getattr(xp, n)(x, axis=a, keepdims=k),
        ((3, 4, 2),),
        lambda x, f=oracle, a=axis, k=keep: f(x, axis=a, keepdims=k),
    )
    for name, oracle in {
        "sum": np.sum,
        "prod": np.prod,
        "max": np.max,
        "min": np.min,
        "mean": np.mean,
        "logsumexp": lambda x, **how: np.log(np.sum(np.exp(x), **how)),
    }.items()
    for axis, keep in [
        (None, False),
        (None, True),
        (-1, False),
        ((0, 2), True),
        ((1, -1), False),
    ]
]
FLOATS = np.array([-0.0, 1e-40, -3.0, 0.3, 1.0, 255.0, 3e38], "float32")
EXAMPLES = [
    *UNARY,
    *REDUCTIONS,
    Example(
        "sum of integers",
        lambda xp, x: xp.sum(x, axis=0),
        (INTS,),
        lambda x: x.sum(axis=0),
    ),
    Example("asin", lambda xp, x: xp.asin(x / 9), ((3, 4),), lambda x: np.asin(x / 9)),
    Example("acos", lambda xp, x: xp.acos(x / 9), ((3, 4),), lambda x: np.acos(x / 9)),
    Example(
        "expm1 near 0",
        lambda xp, x: xp.expm1(x * 1e-6) * 1e6,
        ((3, 4),),
        lambda x: np.expm1(x * 1e-6) * 1e6,
    ),
    Example(
        "expm1 far out",
        lambda xp, x: xp.expm1(x * 9 - 99),
        ((3, 4),),
        lambda x: np.expm1(x * 9 - 99),
    ),
    Example(
        "log1p near 0",
        lambda xp, x: xp.log1p(x * 1e-6) * 1e6,
        ((3, 4),),
        lambda x: np.log1p(x * 1e-6) * 1e6,
    ),
    Example(
        "sinh near 0",
        lambda xp, x: xp.sinh(x * 1e-6) * 1e6,
        ((3, 4),),
        lambda x: np.sinh(x * 1e-6) * 1e6,
    ),
    Example(
        "isnan",
        lambda xp, x: xp.isnan(xp.where(x > 0, x, math.nan)),
        ((3, 4),),
        lambda x: ~(x > 0),
    ),
    Example("logical_not", lambda xp, x: xp.logical_not(x), (MASK,), lambda x: ~x),
    Example(
        "logical_and",
        lambda xp, x, y: (xp.logical_and(x, y), x & y),
        (MASK, OTHER),
        lambda x, y: (x & y, x & y),
    ),
    Example(
        "logical_or",
        lambda xp, x, y: (xp.logical_or(x, y), x | y),
        (MASK, OTHER),
        lambda x, y: (x | y, x | y),
    ),
    Example(
        "maximum",
        lambda xp, x, y: (xp.maximum(x, y), xp.maximum(x, 0), xp.maximum(1, x)),
        ((3, 4), (4,)),
        lambda x, y: (
            np.where(x > y, x, y),
            np.where(x > 0, x, 0),
            np.where(x > 1, x, 1),
        ),
    ),
    Example(
        "minimum",
        lambda xp, x, y: (xp.minimum(x, y), xp.minimum(x, 0.5)),
        ((3, 4), (4,)),
        lambda x, y: (np.where(x < y, x, y), np.where(x < 0.5, x, 0.5)),
    ),
    Example(
        "pow",
        lambda xp, x, y: (xp.pow(x, y), x**2, xp.pow(x, 0.5)),
        ((3, 4), (4,)),
        lambda x, y: (np.exp(y * np.log(x)), x * x, np.sqrt(x)),
        positive=True,
    ),
    Example(
        "fmod",
        lambda xp, x, y: xp.fmod(x, y),
        ((3, 4), (4,)),
        lambda x, y: x - y * np.trunc(x / y),
    ),
    Example(
        "fmod of integers",
        lambda xp, x: (xp.fmod(x, x * 0 + 3), xp.fmod(x, x * 0 - 3)),
        (INTS,),
        lambda x: (np.sign(x) * (np.abs(x) % 3),) * 2,
    ),
    Example(
        "where",
        lambda xp, x, y: (
            xp.where(x > y, x, y),
            xp.where(x < y, x, 0),
            xp.where(x != y, -1.5, x),
        ),
        ((3, 4), (4,)),
        lambda x, y: (np.maximum(x, y), (x < y) * x, np.full(x.shape, -1.5)),
    ),
    Example(
        "clip",
        lambda xp, x: (
            xp.clip(x, -1, 1),
            xp.clip(x, None, 0.5),
            xp.clip(x, 0.5),
            xp.clip(x),
        ),
        ((3, 4),),
        lambda x: (np.clip(x, -1, 1), np.clip(x, None, 0.5), np.clip(x, 0.5, None), x),
    ),
    Example(
        "operators",
        lambda xp, x, y: (2 * x + 1, 1 - x / y, 3 / y, 2**x, -x, abs(1) - y * 0.5),
        ((3, 4), (4,)),
        lambda x, y: (2 * x + 1, 1 - x / y, 3 / y, np.exp2(x), -x, 1 - y / 2),
    ),
    Example(
        "comparisons",
        lambda xp, x, y: (
            x > y,
            x >= y,
            x < y,
            x <= y,
            x == y,
            x != y,
            (x > 0) & (x < 1),
        ),
        ((3, 4), (4,)),
        lambda x, y: (x > y, x >= y, x < y, x <= y, x == y, x != y, (x > 0) & (x < 1)),
    ),
    Example(
        "whole quotients",
        lambda xp, x: (x // 3, x % 3, x // -3, x % -3),
        (INTS,),
        lambda x: (
            np.floor(x / 3).astype("int64"),
            np.mod(x, 3),
            np.floor(x / -3).astype("int64"),
            np.mod(x, -3),
        ),
    ),
    Example(
        "floored quotients",
        lambda xp, x, y: (x // y, x % y),
        ((3, 4), (4,)),
        lambda x, y: (np.floor(x / y), x - y * np.floor(x / y)),
    ),
    Example(
        "astype",
        lambda xp, x: (
            xp.astype(x, "int64"),
            xp.astype(x, "bool"),
            xp.astype(x > 0, x.dtype),
        ),
        ((3, 4),),
        lambda x: (np.trunc(x).astype("int64"), x != 0, np.where(x > 0, 1.0, 0.0)),
    ),
    Example(
        "asarray",
        lambda xp: xp.asarray([[1, 2], [3, 4]], "int64"),
        (),
        lambda: np.array([[1, 2], [3, 4]]),
    ),
    Example(
        "full",
        lambda xp, x: (xp.full((2, 3), 1.5, x.dtype), xp.full((), 7, "int64")),
        ((2,),),
        lambda x: (np.full((2, 3), 1.5), np.int64(7)),
    ),
    Example(
        "zeros",
        lambda xp, x: (xp.zeros((2, 3), x.dtype), xp.zeros([2], "int64")),
        ((2,),),
        lambda x: (np.zeros((2, 3)), np.zeros(2, "int64")),
    ),
    Example(
        "arange",
        lambda xp, x: (xp.arange(4, x.dtype), xp.arange(3, "int64")),
        ((2,),),
        lambda x: (np.arange(4.0), np.arange(3)),
    ),
    Example(
        "reshape",
        lambda xp, x: (
            xp.reshape(x, (4, -1)),
            xp.reshape(x, [24]),
            xp.reshape(x[:0], (0, 8)),
        ),
        ((2, 3, 4),),
        lambda x: (x.reshape(4, 6), x.ravel(), np.zeros((0, 8))),
    ),
    Example(
        "permute_dims",
        lambda xp, x: xp.permute_dims(x, (2, 0, 1)),
        ((2, 3, 4),),
        lambda x: np.moveaxis(x, 2, 0),
    ),
    Example(
        "broadcast_to",
        lambda xp, x: xp.broadcast_to(x, (2, 3, 4)),
        ((3, 1),),
        lambda x: x + np.zeros((2, 3, 4)),
    ),
    Example(
        "concat",
        lambda xp, x, y: (xp.concat([x, y], axis=1), xp.concat([x, x])),
        ((3, 4), (3, 2)),
        lambda x, y: (np.hstack([x, y]), np.vstack([x, x])),
    ),
    Example(
        "flip",
        lambda xp, x: (xp.flip(x, -1), xp.flip(x, (0, 1))),
        ((3, 4, 2),),
        lambda x: (x[..., ::-1], x[::-1, ::-1]),
    ),
    Example(
        "enlarge",
        lambda xp, x: xp.enlarge(x, [(1, 2), (0, 1)], 7),
        ((3, 4),),
        lambda x: np.block(
            [[np.full((1, 5), 7.0)], [x, np.full((3, 1), 7.0)], [np.full((2, 5), 7.0)]]
        ),
    ),
    Example(
        "pad",
        lambda xp, x: (xp.pad(x, [(-1, 1), (0, -2)], 2), xp.pad(x, [(0, 0), (0, 0)])),
        ((3, 4),),
        lambda x: (np.vstack([x[1:, :2], np.full((1, 2), 2.0)]), x),
    ),
    Example(
        "slicing",
        lambda xp, x: (
            x[1],
            x[..., -1],
            x[1:, :, 1:4:2],
            x[-2:, 0],
            x[..., 0:1],
            x[:, 1][0],
        ),
        ((3, 2, 5),),
        lambda x: (x[1], x[:, :, 4], x[1:, :, [1, 3]], x[1:, 0], x[:, :, :1], x[0, 1]),
    ),
    Example(
        "expand_dims",
        lambda xp, x: (xp.expand_dims(x, 0), xp.expand_dims(x, (-1, 1))),
        ((3, 4),),
        lambda x: (x[None], x[:, None, :, None]),
    ),
    Example(
        "squeeze",
        lambda xp, x: (xp.squeeze(x), xp.squeeze(x, -1), xp.squeeze(x, (0, 3))),
        ((1, 3, 4, 1),),
        lambda x: (x[0, :, :, 0], x[..., 0], x[0, :, :, 0]),
    ),
    Example(
        "stack",
        lambda xp, x, y: (xp.stack([x, y]), xp.stack([x, y], axis=-1)),
        ((3, 4), (3, 4)),
        lambda x, y: (np.array([x, y]), np.moveaxis(np.array([x, y]), 0, 2)),
    ),
    Example(
        "split",
        lambda xp, x: xp.split(x, (1, 3), 1),
        ((3, 4),),
        lambda x: (x[:, :1], x[:, 1:]),
    ),
    Example(
        "one_hot",
        lambda xp, i: xp.one_hot(i, 3, "float32"),
        (np.array([[1, 2], [-1, 0]]),),
        lambda i: np.array([[[0, 1, 0], [0, 0, 1]], [[0, 0, 0], [1, 0, 0]]], "float32"),
    ),
    Example(
        "unbroadcast",
        lambda xp, g: (
            xp.unbroadcast(g, (4, 1)),
            xp.unbroadcast(g, ()),
            xp.unbroadcast(g, g.shape),
        ),
        ((3, 4, 5),),
        lambda g: (g.sum(axis=0).sum(axis=1)[:, None], g.sum(), g),
    ),
    Example(
        "argmax",
        lambda xp, x: (xp.argmax(x, 1), xp.argmax(x, axis=-1, keepdims=True)),
        (np.array([[1.0, 5, 5], [2, 2, 1]], "float32"),),
        lambda x: (np.array([1, 0]), np.array([[1], [0]])),
    ),
    Example(
        "cumulative_sum",
        lambda xp, x: xp.cumulative_sum(x, 1),
        ((3, 4),),
        lambda x: x @ np.triu(np.ones((4, 4))),
    ),
    Example(
        "matmul",
        lambda xp, x, y: (xp.matmul(x, y), x @ y, xp.matmul(x[0, 0, 0], y)),
        ((2, 1, 3, 4), (5, 4, 2)),
        lambda x, y: (
            both := np.sum(x[..., None] * y[:, None], axis=-2),
            both,
            both[0, :, 0],
        ),
    ),
    Example(
        "einsum",
        lambda xp, x, y: xp.einsum("nij,njk->ik", x, y),
        ((2, 3, 4), (2, 4, 2)),
        lambda x, y: sum(x[n] @ y[n] for n in range(2)),
    ),
    Example(
        "take",
        lambda xp, x, i: (
            xp.take(x, i, axis=1),
            xp.take(x, i, axis=-1),
            xp.take(x, i[0]),
        ),
        ((4, 4), np.array([[0, 2], [3, 3]])),
        lambda x, i: (x[:, i], x[:, i], x[i[0]]),
    ),
    Example(
        "take_along_axis",
        lambda xp, x, i: xp.take_along_axis(x, i, -1),
        ((3, 4), np.array([[0], [2], [3]])),
        lambda x, i: x[[0, 1, 2], [0, 2, 3]][:, None],
    ),
    Example(
        "scatter_add",
        lambda xp, x, i, v: xp.scatter_add(x, i, v, 1),
        ((2, 4), np.array([[0, 0, 3], [1, 2, 1]]), (2, 3)),
        lambda x, i, v: x + np.stack([v[r] @ np.eye(4)[i[r]] for r in range(2)]),
    ),
    Example(
        "sort_descending",
        lambda xp, x: xp.sort_descending(x, 1),
        (np.array([[1, 3, 3, 2], [0, 0, 5, -1]], "float32"),),
        lambda x: (
            np.array([[3, 3, 2, 1], [5, 0, 0, -1]], "float32"),
            np.array([[1, 2, 3, 0], [2, 0, 1, 3]]),
        ),
    ),
    Example(
        "windows",
        lambda xp, x: xp.windows(x, (2, 3), (2, 1), (1, 2)),
        ((2, 7, 8),),
        lambda x: windows(x, (2, 3), (2, 1), (1, 2)),
    ),
    Example(
        "windows, large",
        lambda xp, x: xp.windows(x, (9, 8), (2, 1), (1, 2)),
        ((2, 12, 16),),
        lambda x: windows(x, (9, 8), (2, 1), (1, 2)),
    ),
    Example(
        "fold",
        lambda xp, w: xp.fold(w, (8, 8), (2, 1), (1, 2)),
        ((2, 4, 4, 2, 3),),
        lambda w: fold(w, (8, 8), (2, 1), (1, 2)),
    ),
    Example(
        "stuff",
        lambda xp, x: xp.stuff(x, (3, 1, 2)),
        ((2, 2, 3, 2),),
        lambda x: np.kron(x, np.eye(6)[:1].reshape(3, 1, 2))[:, :4, :, :3],
    ),
    Example(
        "conv",
        lambda xp, x, w: xp.conv(x, w, *WHERE, 2),
        ((2, 4, 7, 8), (6, 2, 3, 2)),
        lambda x, w: conv(x, w, *WHERE, 2),
    ),
    Example(
        "conv in 1-D",
        lambda xp, x, w: xp.conv(x, w, (3,), [(1, 1)], (1,)),
        ((2, 3, 11), (4, 3, 4)),
        lambda x, w: conv(x, w, (3,), [(1, 1)], (1,)),
    ),
    Example(
        "conv in 3-D",
        lambda xp, x, w: xp.conv(x, w, (1, 2, 1), [(1, 1)] * 3, (1, 1, 1)),
        ((1, 2, 4, 4, 3), (3, 2, 2, 3, 2)),
        lambda x, w: conv(x, w, (1, 2, 1), [(1, 1)] * 3, (1, 1, 1)),
    ),
    Example(
        "conv_transpose",
        lambda xp, y, w: xp.conv_transpose(y, w, (6, 4), *WHERE, 2),
        ((1, 4, 3, 5), (4, 1, 3, 2)),
        lambda y, w: by_basis(lambda x: conv(x, w, *WHERE, 2), (1, 2, 6, 4), y),
    ),
    Example(
        "conv_weight",
        lambda xp, x, y: xp.conv_weight(x, y, (3, 2), *WHERE, 2),
        ((1, 2, 6, 4), (1, 4, 3, 5)),
        lambda x, y: by_basis(lambda w: conv(x, w, *WHERE, 2), (4, 1, 3, 2), y),
    ),
    Example("scan", recurrence, ((3,), (5, 3)), recurrence_oracle),
    Example(
        "cond",
        lambda xp, x: [
            xp.cond(xp.sum(s * x) > 0, lambda v: v + 1, lambda v: v * 2, x)
            for s in (1, -1)
        ],
        ((3,),),
        lambda x: [x + 1, x * 2] if x.sum() > 0 else [x * 2, x + 1],
    ),
    Example(
        "while_loop",
        lambda xp, x: xp.while_loop(
            lambda n, v: n < 3, lambda n, v: (n + 1, v * 2), (xp.zeros((), "int64"), x)
        ),
        ((2, 3),),
        lambda x: (np.int64(3), x * 8),
    ),
    Example(
        "require",
        lambda xp, x: xp.require(xp.sum(x * x) >= 0, "no", x),
        ((2, 3),),
        lambda x: x,
    ),
    Example(
        "mask32", lambda xp, x: xp.mask32(x * 4), (WORDS,), lambda x: x * 4 % 2**32
    ),
    Example(
        "bitcast",
        lambda xp, x: xp.bitcast(x, "uint64"),
        (WORDS - 7,),
        lambda x: x.view("uint64"),
    ),
    Example(
        "xor", lambda xp, x: xp.xor(x, xp.flip(x, 0)), (WORDS,), lambda x: x ^ x[::-1]
    ),
    Example(
        "shift_left", lambda xp, x: xp.shift_left(x, 8), (WORDS,), lambda x: x * 256
    ),
    Example(
        "shift_left by arrays",
        lambda xp, x, by: (xp.shift_left(x, by), xp.shift_right(x, by)),
        (np.array([255, 37, 1], "uint8"), np.array([1, 2, 7], "uint8")),
        lambda x, by: (
            np.array([254, 148, 128], "uint8"),
            np.array([127, 9, 0], "uint8"),
        ),
    ),
    Example(
        "bits",
        lambda xp, x: (~x, ~(x > 0), x & 5, x | 5),
        (INTS,),
        lambda x: (-x - 1, x <= 0, np.bitwise_and(x, 5), np.bitwise_or(x, 5)),
    ),
    Example(
        "shift_right", lambda xp, x: xp.shift_right(x, 8), (WORDS,), lambda x: x // 256
    ),
    Example(
        "rotate_left",
        lambda xp, x: xp.rotate_left(x, 13),
        (WORDS,),
        lambda x: x * 8192 % 2**32 + x // 2**19,
    ),
    Example(
        "threefry",
        lambda xp, k, a, b: xp.threefry(k, a, b),
        (KEY.astype("int64"), WORDS, WORDS[::-1].copy()),
        threefry,
    ),
    Example("widen", lambda xp, x: xp.narrow(xp.widen(x)), (FLOATS,), lambda x: x),
    Example(
        "narrow", lambda xp, x: xp.narrow(xp.widen(x) / 3.0), (FLOATS,), lambda x: x / 3
    ),
    Example(
        "exponent",
        lambda xp, x: xp.narrow(xp.exponent(xp.widen(x))),
        (np.abs(FLOATS[1:]),),
        lambda x: np.floor(np.log2(x)),
    ),
    Example(
        "power_of_two",
        lambda xp, x: xp.narrow(xp.power_of_two(xp.floor(xp.widen(x)))),
        (np.array([-126.0, -1.0, 0.0, 7.5], "float32"),),
        lambda x: 2.0 ** np.floor(x),
    ),
    Example(
        "unit",
        lambda xp, x: xp.narrow(xp.unit(xp.widen(x))),
        (FLOATS,),
        lambda x: np.copysign(1, x),
    ),
    Example(
        "hidden_zero",
        lambda xp, x: xp.narrow(xp.apart(xp.widen(x), xp.hidden_zero(xp.widen(x)))),
        (FLOATS,),
        lambda x: x,
    ),
    Example(
        "apart",
        lambda xp, x: xp.narrow(xp.apart(xp.widen(x), xp.hidden_zero(xp.widen(x)))),
        (FLOATS,),
        lambda x: x,
    ),
    Example(
        "uniform",
        lambda xp, key: xp.uniform(key, (3, 5)),
        (KEY,),
        lambda key: uniform(key, (3, 5)),
    ),
    Example(
        "uniform, a scalar",
        lambda xp, key: xp.uniform(key, ()),
        (KEY,),
        lambda key: uniform(key, ()),
    ),
]
GRID = [
    cell
    for cell in itertools.product(ADAPTERS, ["float32", "float64"], EXAMPLES)
    if cell[1] == "float32" or any(isinstance(shape, tuple) for shape in cell[2].inputs)
]


def needs(adapter: str) -> None:
    if adapter != "core only" and not framework(adapter).available():
        pytest.skip(f"{adapter} is not installed")


@pytest.mark.parametrize(
    ("adapter", "dtype", "example"),
    [
        pytest.param(*cell, id=f"{cell[0]}-{cell[1]}-{cell[2].name}")
        for cell in GRID
        if (cell[0], cell[1], cell[2].name) not in GAPS
    ],
)
def test_function(adapter: str, dtype: str, example: Example) -> None:
    needs(adapter)
    check(adapter, example, dtype)


@pytest.mark.parametrize(("adapter", "dtype", "name"), GAPS)
def test_a_known_gap_is_still_there(adapter: str, dtype: str, name: str) -> None:
    needs(adapter)
    example = next(e for e in EXAMPLES if e.name == name)
    with pytest.raises(Unsupported, match="has no kernel"):
        check(adapter, example, dtype)


def test_every_function_has_an_example() -> None:
    assert {
        name.split(" ")[0].strip(",") for name in (e.name for e in EXAMPLES)
    } >= CORE | DERIVED


def last_wins(x: np.ndarray, i: np.ndarray, v: np.ndarray, axis: int) -> np.ndarray:
    out = x.copy()
    np.put_along_axis(out, i, np.take_along_axis(x, i, axis) + v, axis)
    return out


PLANTED = {
    "tanh": lambda self, x: np.tanh(x) + np.asarray(1e-5, x.dtype),  # a wrong value
    "sum": lambda self, x, axis=None, keepdims=False: np.sum(
        x, axis=axis, keepdims=keepdims, dtype="float64"
    ),
    "squeeze": lambda self, x, axis=None: x,  # a wrong shape
    "argmax": lambda self, x, axis, keepdims=False: (
        x.shape[axis] - 1 - np.argmax(np.flip(x, axis), axis)
    ),  # the last
    "scatter_add": lambda self, x, i, v, axis: last_wins(x, i, v, axis),
    "windows": lambda self, x, k, s, d: NumpyNamespace.windows(
        self, np.flip(x, -1), k, s, d
    ),
    "conv_transpose": lambda self, y, w, *how: NumpyNamespace.conv_transpose(
        self, y, np.flip(w, -1), *how
    ),
    "uniform": lambda self, key, shape: np.nextafter(
        uniform(key, shape), np.float32(1)
    ),  # wrong in the last bit
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found(name: str) -> None:
    wrong = type("Wrong", (NumpyNamespace,), {name: PLANTED[name]})()
    example = next(e for e in EXAMPLES if e.name.split(" ")[0] == name)
    check("reference", example, "float32")
    with pytest.raises(AssertionError):
        check(wrong, example, "float32")


def test_an_adapter_without_the_whole_core_is_refused() -> None:
    with pytest.raises(TypeError, match="does not bind exp, log"):
        type("Half", (Namespace,), {name: None for name in CORE - {"exp", "log"}})


# -- adjoints: <y, A x> = <A^T y, x>


@dataclass(frozen=True)
class Geometry:
    """A convolution: everything but its numbers."""

    batch: int
    groups: int
    per_group: tuple[int, int]  # channels and features
    # size, kernel, stride, pads, dilation
    axes: tuple[tuple[int, int, int, tuple[int, int], int], ...]

    def arrays(self, dtype: str) -> list[np.ndarray]:
        channels, features = (n * self.groups for n in self.per_group)
        sizes, kernel, strides, pads, dilations = zip(*self.axes, strict=True)
        padded = [size + lo + hi for size, (lo, hi) in zip(sizes, pads, strict=True)]
        counts = window_counts(padded, kernel, strides, dilations)
        inside = window_counts(sizes, kernel, strides, dilations)
        x, w = (self.batch, channels, *sizes), (features, self.per_group[0], *kernel)
        rng = np.random.default_rng(5)
        return [
            rng.standard_normal(shape).astype(dtype)
            for shape in (
                x,
                w,
                (self.batch, features, *counts),
                (*x[:2], *inside, *kernel),
            )
        ]

    def results(self, xp: Any, x: Any, w: Any, y: Any, v: Any) -> list:
        sizes, kernel, *how = zip(*self.axes, strict=True)
        strides, _, dilations = how
        return [
            xp.conv(x, w, *how, self.groups),
            xp.conv_transpose(y, w, sizes, *how, self.groups),
            xp.conv_weight(x, y, kernel, *how, self.groups),
            xp.windows(x, kernel, strides, dilations),
            xp.fold(v, sizes, strides, dilations),
        ]


@st.composite
def geometries(draw: Any) -> Geometry:
    small = st.integers(1, 3)

    def axis() -> tuple:
        kernel, stride, dilation = draw(small), draw(small), draw(st.integers(1, 2))
        span = dilation * (kernel - 1) + 1
        return (
            draw(st.integers(span, span + 4)),
            kernel,
            stride,
            (draw(small) - 1, draw(small) - 1),
            dilation,
        )

    return Geometry(
        draw(small),
        draw(small),
        (draw(small), draw(small)),
        tuple(axis() for _ in range(draw(st.integers(1, 2)))),
    )


def check_adjoints(adapter: str | Namespace, geometry: Geometry, dtype: str) -> None:
    arrays = geometry.arrays(dtype)
    wide = [
        a.astype("float64") for a in (*arrays, *run(adapter, geometry.results, arrays))
    ]
    x, w, y, v, conv_x, back_x, back_w, windows_x, folded = wide
    limit = {"float32": 1e-7, "float64": 1e-15}[dtype]
    size_x, size_w, size_y, size_v = (float(np.linalg.norm(a)) for a in (x, w, y, v))
    assert np.sum(y * conv_x) == pytest.approx(
        np.sum(back_x * x), abs=limit * size_x * size_w * size_y
    )
    assert np.sum(y * conv_x) == pytest.approx(
        np.sum(back_w * w), abs=limit * size_x * size_w * size_y
    )
    assert np.sum(v * windows_x) == pytest.approx(
        np.sum(folded * x), abs=limit * size_x * size_v
    )


@pytest.mark.parametrize("adapter", ["core only", "reference", "pytorch"])
@settings(max_examples=25)
@given(geometry=geometries())
def test_adjoints(adapter: str, geometry: Geometry) -> None:
    needs(adapter)
    check_adjoints(adapter, geometry, "float64")


FIXED = [
    Geometry(2, 1, (3, 4), ((8, 3, 1, (1, 1), 1), (8, 3, 1, (1, 1), 1))),
    Geometry(2, 2, (2, 3), ((8, 3, 2, (1, 0), 1), (9, 2, 3, (0, 2), 2))),
    Geometry(1, 3, (1, 1), ((7, 2, 2, (2, 1), 2),)),
]


@pytest.mark.parametrize("adapter", ["jax", "onnxruntime", "tensorflow"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "geometry", FIXED, ids=["plain", "grouped", "depthwise in 1-D"]
)
def test_adjoints_of_fixed_shapes(geometry: Geometry, dtype: str, adapter: str) -> None:
    needs(adapter)
    check_adjoints(adapter, geometry, dtype)


@pytest.mark.parametrize(
    "name", ["conv", "conv_transpose", "conv_weight", "windows", "fold"]
)
def test_a_wrong_adjoint_is_found(name: str) -> None:
    def almost(self: Any, *args: Any) -> Any:
        return getattr(NumpyNamespace, name)(self, *args) * (1 + 1e-8)

    check_adjoints(NumpyNamespace(), FIXED[1], "float64")
    with pytest.raises(AssertionError):
        check_adjoints(
            type("Wrong", (NumpyNamespace,), {name: almost})(), FIXED[1], "float64"
        )


# -- random numbers


@pytest.mark.parametrize(
    ("key", "counter", "words"),
    [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_threefry_gives_the_published_words(
    key: tuple, counter: tuple, words: tuple
) -> None:
    for f in (threefry, NumpyNamespace().threefry):
        a, b = f(np.array(key), np.array(counter[:1]), np.array(counter[1:]))
        assert (int(a[0]), int(b[0])) == words


@pytest.mark.parametrize("adapter", [a for a in ADAPTERS if a != "reference"])
def test_random_numbers_have_the_same_bits_everywhere(adapter: str) -> None:
    needs(adapter)
    for shape in [(7,), (40, 25)]:
        want = NumpyNamespace().uniform(KEY, shape)
        (got,) = run(
            adapter, lambda xp, key, shape=shape: xp.uniform(key, shape), [KEY]
        )
        assert got.tobytes() == want.tobytes()


def test_random_numbers_are_uniform_and_depend_on_the_key() -> None:
    keys = [np.array([k, 1, 0, 1]) for k in range(2)]
    draws = [NumpyNamespace().uniform(key, (100_001,)) for key in keys]
    for values in draws:
        assert 0 <= values.min() and values.max() < 1
        counts = np.histogram(values, bins=20, range=(0, 1))[0]
        # chi-square with 19 degrees of freedom, p = 1e-4
        assert float(np.sum((counts - 5000.05) ** 2) / 5000.05) < 50
    assert abs(np.corrcoef(*draws)[0, 1]) < 0.02


# -- helpers, and the traps of recording


def test_helpers() -> None:
    assert ints(3) == (3,) and ints([1, -1]) == (1, -1)
    assert count((2, 3, 4)) == 24 and count((2, 3, 4), (0, -1)) == 8
    assert slice_axis(np.arange(12).reshape(3, 4), -1, 1, 3).tolist() == [
        [1, 2],
        [5, 6],
        [9, 10],
    ]
    assert window_counts((7, 8), (2, 3), (2, 1), (1, 2)) == (3, 4)


def test_a_recorded_value_refuses_what_it_cannot_know() -> None:
    needs("onnxruntime")
    from deep500.onnx.recording.arrays import argument

    x, i = argument((2, 3), "float32"), argument((3,), "int64")
    with pytest.raises(TypeError, match="not known yet"):
        bool(x[0, 0] > 0)
    with pytest.raises(TypeError, match="0.5 does not go with int64"):
        i * 0.5
    with pytest.raises(IndexError):
        x[2]
    assert len(list(x)) == 2  # type: ignore[call-overload]
    assert (np.float32(2) * x).shape == (2, 3)
