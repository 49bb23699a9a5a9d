"""Old opsets mean what they meant, whatever the newer operators of the same name mean."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from deep500.errors import Unsupported
from deep500.formats.onnx import Onnx
from deep500.frameworks import framework

read = Onnx().read

X = np.random.default_rng(3).standard_normal((2, 3, 4)).astype("f4")


def model_of(
    op: str,
    opset: int,
    weights: dict[str, Any] | None = None,
    outputs: tuple[str, ...] = ("y",),
    shape: tuple = X.shape,
    **attributes: Any,
) -> onnx.ModelProto:
    constants = {
        name: np.asarray(value, "f4") for name, value in (weights or {}).items()
    }
    # old models list weights too
    inputs = [("x", shape), *((name, value.shape) for name, value in constants.items())]
    graph = helper.make_graph(
        [helper.make_node(op, ["x", *constants], list(outputs), **attributes)],
        "g",
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
            for name, dims in inputs
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=3
    )


def result(model: onnx.ModelProto, x: np.ndarray = X) -> np.ndarray:
    return framework("reference").executor(read(model)).inference({"x": x})["y"]


@pytest.mark.parametrize("axis", [0, 1, 2, -1, None])
@pytest.mark.parametrize(
    ("op", "finish"), [("Softmax", lambda p: p), ("LogSoftmax", np.log)]
)
def test_softmax_took_all_axes_from_one_on(
    op: str, finish: Any, axis: int | None
) -> None:
    first = 1 if axis is None else axis % 3
    e = np.exp(X.reshape(int(np.prod(X.shape[:first])), -1))
    right = finish((e / e.sum(1, keepdims=True)).reshape(X.shape))
    attributes: dict[str, Any] = {} if axis is None else {"axis": axis}
    found = result(model_of(op, 11, **attributes))
    np.testing.assert_allclose(found, right, rtol=1e-5)


@pytest.mark.parametrize(("op", "right"), [("Add", np.add), ("Mul", np.multiply)])
def test_broadcasting_was_by_axis(op: str, right: Any) -> None:
    by_axis = {"b": np.arange(3.0)}
    np.testing.assert_array_equal(
        result(model_of(op, 6, by_axis, broadcast=1, axis=1)),
        right(X, np.arange(3, dtype="f4")[:, None]),
    )
    np.testing.assert_array_equal(
        result(model_of(op, 6, {"b": np.arange(4.0)}, broadcast=1)),
        right(X, np.arange(4, dtype="f4")),
    )
    np.testing.assert_array_equal(
        result(model_of(op, 6, {"b": 2 * X})), right(X, 2 * X)
    )


def test_prelu_had_a_slope_per_channel() -> None:
    slopes = np.array([0.1, 0.2, 0.3], "f4")
    np.testing.assert_allclose(
        result(model_of("PRelu", 6, {"slope": slopes})),
        np.where(X < 0, X * slopes[:, None], X),
        rtol=1e-6,
    )
    np.testing.assert_allclose(
        result(model_of("PRelu", 6, {"slope": [0.5]})),
        np.where(X < 0, X * 0.5, X),
        rtol=1e-6,
    )


NORMAL = {"s": [1, 2, 3], "b": [0, 1, 0], "m": [0, 0.5, 1], "v": [1, 2, 0.5]}


@pytest.mark.parametrize(
    ("opset", "attributes"), [(6, {"is_test": 1}), (7, {}), (9, {})]
)
def test_batch_normalization_for_inference_is_what_it_is_today(
    opset: int, attributes: dict
) -> None:
    today = result(model_of("BatchNormalization", 15, NORMAL))
    np.testing.assert_array_equal(
        result(model_of("BatchNormalization", opset, NORMAL, **attributes)), today
    )


def test_what_cannot_be_said_today_is_refused() -> None:
    with pytest.raises(Unsupported, match="being trained"):
        read(model_of("BatchNormalization", 6, NORMAL))
    with pytest.raises(Unsupported, match="being trained"):
        read(
            model_of(
                "BatchNormalization", 9, NORMAL, outputs=("y", "m2", "v2", "m3", "v3")
            )
        )
    with pytest.raises(Unsupported, match="the shape of 'x', which is not known"):
        read(model_of("Softmax", 11, shape=("n", 3, 4)))
