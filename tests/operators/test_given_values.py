"""What users pass: attributes and static inputs as lists, tuples, NumPy arrays and scalars, on every framework."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pytest

import deep500 as d5
from deep500 import registry
from deep500.contracts.operator import Operator
from deep500.errors import Deep500Error

FRAMEWORKS = ["reference", "pytorch", "jax", "tensorflow", "onnxruntime"]
X = np.arange(24, dtype="float32").reshape(2, 3, 4)


@dataclass(frozen=True)
class Use:
    """An operator with its attributes and inputs, as tuples and numbers, and what it makes of them."""

    operator: str
    inputs: Sequence[Any]
    result: np.ndarray
    attributes: dict[str, Any] = field(default_factory=dict)


USES = [
    Use("Transpose", [X], X.transpose(0, 2, 1), {"perm": (0, 2, 1)}),
    Use("ReduceSum", [X, (1, 2)], X.sum((1, 2)), {"keepdims": 0}),
    Use("Reshape", [X, (4, -1)], X.reshape(4, 6)),
    Use("Slice", [X, (1, 0), (2, 3), (1, 2), (1, 2)], X[:, 1:2, 0:3:2]),
    Use(
        "Pad",
        [X, (0, 1, 0, 0, 0, 2), 1.5],
        np.pad(X, ((0, 0), (1, 0), (0, 2)), constant_values=1.5),
    ),
    Use("Unsqueeze", [X, (0, 4)], X[None, ..., None]),
    Use("Squeeze", [X[:1], (0,)], X[0]),
    Use("Clip", [X, 2.0, 7.0], X.clip(2, 7)),
    Use("TopK", [X, (2,)], X[:, :, :-3:-1], {"axis": -1}),
    Use("Tile", [X, (1, 2, 1)], np.tile(X, (1, 2, 1))),
    Use("Expand", [X[:, :1], (2, 3, 4)], np.repeat(X[:, :1], 3, 1)),
    Use("Split", [X, (1, 2)], X[:, :1], {"axis": 1}),
    Use("CumSum", [X, 2], X.cumsum(2)),
    Use("Trilu", [X, 1], np.triu(X, 1)),
    Use(
        "OneHot",
        [np.array([0, 2]), 3, np.array([0, 1], "float32")],
        np.eye(3, dtype="float32")[[0, 2]],
    ),
    Use("Range", [2, 8, 3], np.array([2, 5])),
    Use("LeakyRelu", [-X], -X * np.float32(0.5), {"alpha": 0.5}),
    Use(
        "AveragePool",
        [X[None]],
        X[None, :, ::2, ::2],
        {"kernel_shape": (1, 1), "strides": (2, 2)},
    ),
    Use("ConstantOfShape", [(2, 2)], np.full((2, 2), 3), {"value": np.int64(3)}),
]


def as_list(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def as_numpy(value: Any) -> Any:
    """A tuple as an array, a number as a scalar of NumPy."""
    return value if isinstance(value, str) else np.asarray(value)[()]


def as_array(value: Any) -> Any:
    """A number too is an array, of no dimension."""
    return value if isinstance(value, str) else np.asarray(value)


def as_int32(value: Any) -> Any:
    array = np.asarray(value)
    return (
        array.astype("int32")
        if isinstance(value, tuple) and array.dtype.kind == "i"
        else value
    )


FORMS = [as_list, as_numpy, as_array, as_int32]


def operator_of(use: Use, form: Callable[[Any], Any] = lambda value: value) -> Any:
    attributes = {name: form(value) for name, value in use.attributes.items()}
    return registry.find("operators", use.operator)(**attributes)


def inputs_of(use: Use, operator: Operator, form: Callable[[Any], Any]) -> list[Any]:
    names = operator.input_names(len(use.inputs))
    pairs = zip(names, use.inputs, strict=True)
    return [form(value) if name in operator.static else value for name, value in pairs]


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("use", USES, ids=lambda use: use.operator)
def test_every_form_gives_the_same(use: Use, framework: str) -> None:
    pytest.importorskip(d5.framework(framework).module_name)
    for form in FORMS:
        operator = operator_of(use, form)
        made = d5.evaluate(operator, inputs_of(use, operator, form), framework)[0]
        np.testing.assert_array_equal(made, use.result, f"{form.__name__}")
        assert made.dtype == use.result.dtype


@pytest.mark.parametrize("use", USES, ids=lambda use: use.operator)
def test_equal_settings_are_equal_operators(use: Use) -> None:
    plain = operator_of(use)
    for form in FORMS:
        same = operator_of(use, form)
        assert same == plain and hash(same) == hash(plain) and repr(same) == repr(plain)
        for value in same.settings.values():
            assert type(value) in (int, float, str, tuple, type(None), np.int64)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_gradients_take_every_form_too(framework: str) -> None:
    pytest.importorskip(d5.framework(framework).module_name)
    ones = np.ones((2, 3, 1), "float32")
    for axes in ([2], (2,), np.array([2]), np.int32(2), 2):
        for dy in (ones, ones.tolist()):
            dx, none = d5.gradient(d5.operators.ReduceSum(), [X, axes], [dy], framework)
            np.testing.assert_array_equal(dx, np.ones_like(X))
            assert none is None and dx.dtype == "float32"


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_calls_that_are_timed_take_every_form_too(framework: str) -> None:
    pytest.importorskip(d5.framework(framework).module_name)
    target, operator = d5.framework(framework), d5.operators.Unsqueeze()
    [made] = target.forward_call(
        operator, [X.tolist(), np.array([0])], "composed"
    ).run()
    np.testing.assert_array_equal(made, X[None])
    dx = target.backward_call(operator, [X, [0]], [X[None].tolist()], "composed").run()[
        0
    ]
    np.testing.assert_array_equal(dx, X)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_numbers_and_lists_take_the_dtype_of_the_arrays(framework: str) -> None:
    pytest.importorskip(d5.framework(framework).module_name)
    ops = d5.operators
    for dtype in ("float32", "float64", "int64"):
        x = X.astype(dtype)
        for other in (2, [2, 2, 2, 2], np.asarray(2, dtype), np.full(4, 2, dtype)[0]):
            made = d5.evaluate(ops.Mul(), [x, other], framework)[0]
            assert made.dtype == dtype
            np.testing.assert_array_equal(made, x * 2)
    np.testing.assert_array_equal(
        d5.evaluate(ops.Clip(), [X, 3, 6], framework)[0], X.clip(3, 6)
    )
    np.testing.assert_array_equal(
        d5.evaluate(ops.Where(), [[True, False, True, False], X, 0], framework)[0],
        X * [1, 0, 1, 0],
    )
    for index in ([2, 0], np.array([2, 0], "int32"), (2, 0)):
        taken = d5.evaluate(ops.Gather(axis=2), [X, index], framework)[0]
        np.testing.assert_array_equal(taken, X[:, :, [2, 0]])
    np.testing.assert_array_equal(d5.evaluate(ops.Gather(), [X, 1], framework)[0], X[1])
    assert d5.evaluate(ops.Neg(), [[1.5, -2.0]], framework)[0].dtype == "float32"


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("source", ["pytorch", "jax", "tensorflow"])
def test_tensors_of_every_framework_are_inputs(source: str, framework: str) -> None:
    for name in (source, framework):
        pytest.importorskip(d5.framework(name).module_name)
    giver = d5.framework(source)
    axes = giver.tensor(np.array([1]))
    made = d5.evaluate(
        d5.operators.ReduceSum(), [giver.tensor(X.copy()), axes], framework
    )[0]
    np.testing.assert_array_equal(made, X.sum(1, keepdims=True))


def test_a_tensor_that_pytorch_differentiates_is_an_input() -> None:
    torch = pytest.importorskip("torch")
    x = torch.ones(3, requires_grad=True)
    for framework in ("reference", "pytorch"):
        assert d5.evaluate(d5.operators.Relu(), [x], framework)[0].tolist() == [1, 1, 1]


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: d5.operators.Transpose(perm=[0, "a"]),
        "perm of Transpose is .*whole numbers is wanted",
    ),
    (
        lambda: d5.operators.Transpose(perm=[0, 0]),
        r"perm of Transpose is \(0, 0\), which is no order",
    ),
    (
        lambda: d5.operators.Softmax(axis=1.5),
        "axis of Softmax is 1.5, and a whole number is wanted",
    ),
    (
        lambda: d5.operators.LeakyRelu(alpha="x"),
        "alpha of LeakyRelu is 'x', and a number is wanted",
    ),
    (
        lambda: d5.operators.Gelu(approximate=3),
        "approximate of Gelu is 3, and a text is wanted",
    ),
    (
        lambda: d5.operators.MaxRoiPool(pooled_shape=[1]),
        "pooled_shape of MaxRoiPool is .*list of 2",
    ),
    (
        lambda: d5.evaluate(d5.operators.ReduceSum(), [X, [0.5]]),
        r"'axes' of ReduceSum is \[0.5\], and",
    ),
    (
        lambda: d5.evaluate(d5.operators.Pad(), [X, [[0, 1]] * 3]),
        "'pads' of Pad is .*whole numbers",
    ),
    (
        lambda: d5.evaluate(d5.operators.Add(), [X, "abc"]),
        "'b' of Add is 'abc': an array of numbers",
    ),
    (
        lambda: d5.evaluate(d5.operators.Add(), [X, [[1], [2, 3]]]),
        "'b' of Add is .*inhomogeneous",
    ),
    (
        lambda: d5.evaluate(d5.operators.Gather(), [X, 0.5]),
        "'indices' of Gather is 0.5: whole numbers",
    ),
    (
        lambda: d5.evaluate(d5.operators.Relu(), cast(Any, X)),
        "the inputs of Relu are a list, one for each of x",
    ),
    (
        lambda: d5.evaluate(d5.operators.Add(), [np.ones(2, "uint8"), -1]),
        "'b' of Add is -1: uint8 cannot hold that",
    ),
    (
        lambda: d5.optimizers.Adam(learning_rate=[0.1, 0.2]),
        r"learning_rate of Adam is \[0.1, 0.2\], and a number or a Schedule is wanted",
    ),
]


@pytest.mark.parametrize(("call", "text"), REFUSED)
def test_what_has_another_form_is_refused_by_name(
    call: Callable[[], Any], text: str
) -> None:
    with pytest.raises(Deep500Error, match=text) as refused:
        call()
    assert "\n" not in str(refused.value)


def test_users_operators_take_lists_and_keep_integers() -> None:
    class Picked(Operator):
        places: list[int]

        def forward(self, xp, x, index, axes: "tuple[int, ...]"):
            assert axes == (1,)
            return xp.take(x, index, self.places[0])

    for framework in ("reference", "jax"):
        pytest.importorskip(d5.framework(framework).module_name)
        made = d5.evaluate(Picked(places=[2]), [X, [3, 1], np.array([1])], framework)[0]
        np.testing.assert_array_equal(made, X[:, :, [3, 1]])


@pytest.mark.parametrize("name", registry.known("operators"))
def test_integers_are_array_inputs(name: str) -> None:
    operator: Any = registry.find("operators", name)
    assert {*operator.integers} <= {*operator.inputs} - operator.static


def test_other_definitions_are_canonical_too() -> None:
    assert d5.optimizers.Adam(learning_rate=np.float32(0.5)) == d5.optimizers.Adam(
        learning_rate=0.5
    )
    mlp: Any = registry.find("networks", "Mlp")
    assert mlp(hidden=np.array([8, 4])).hidden == (8, 4)
    assert mlp(hidden=[8, 4]) == mlp(hidden=(8, 4))
