"""Spatial operators of older opsets are what ONNX Runtime makes of them, and settings that are none are refused."""

from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper

from deep500.contracts.operator import Operator
from deep500.errors import Deep500Error
from deep500.frameworks import available_frameworks, framework
from deep500.operators.grid_sample import GridSample, GridSample_16
from deep500.operators.resize import Resize, Resize_10
from deep500.operators.roi_align import RoiAlign, RoiAlign_10
from deep500.operators.upsample import Upsample

DRAW = np.random.default_rng(5)
X, SCALES = DRAW.standard_normal((1, 2, 4, 5), "float32"), (1.0, 1.0, 2.0, 1.5)
GRID = DRAW.uniform(-1.2, 1.2, (1, 3, 4, 2)).astype("float32")
ROIS, INDICES = (
    np.array([[0.3, 0.4, 3.2, 2.9], [-1.0, 1.0, 6.0, 9.0]], "float32"),
    np.array([0, 0]),
)
REGIONS: dict[str, Any] = {"sampling_ratio": 2, "output_height": 2, "output_width": 3}
OLD: list[tuple[Operator, int, list[Any]]] = [
    (Resize_10(mode="nearest"), 10, [X, SCALES]),
    (Resize_10(mode="linear"), 10, [X, SCALES]),
    (Upsample(mode="nearest"), 9, [X, SCALES]),
    (Upsample(mode="linear"), 9, [X, SCALES]),
    (GridSample_16(mode="bilinear", padding_mode="border"), 16, [X, GRID]),
    (GridSample_16(mode="bicubic", align_corners=1), 16, [X, GRID]),
    (RoiAlign_10(**REGIONS), 10, [X, ROIS, INDICES]),
]


def by_onnxruntime(operator: Operator, opset: int, inputs: list[Any]) -> np.ndarray:
    """The node in a model of its own opset."""
    name = type(operator).__name__.partition("_")[0]
    newer = {"coordinate_transformation_mode"}
    settings = {k: v for k, v in operator.settings.items() if k not in newer}
    weights = [
        numpy_helper.from_array(
            np.asarray(v, "float32" if isinstance(v, tuple) else v.dtype), f"i{k}"
        )
        for k, v in enumerate(inputs)
    ]
    node = helper.make_node(name, [w.name for w in weights], ["y"], **settings)
    graph = helper.make_graph(
        [node], "node", [], [helper.make_tensor_value_info("y", 1, None)], weights
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8
    )
    session = framework("onnxruntime").session(model)  # type: ignore[attr-defined]
    return session.run(None, {})[0]


@pytest.mark.parametrize(
    ("operator", "opset", "inputs"), OLD, ids=lambda v: str(v)[:40]
)
def test_older_opsets(operator: Operator, opset: int, inputs: list[Any]) -> None:
    right = by_onnxruntime(operator, opset, inputs)
    for name in available_frameworks():
        (got,) = framework(name).evaluate(operator, inputs)
        assert got.shape == right.shape and np.abs(got - right).max() < 1e-5, name


def test_the_newest_meaning_would_be_found_out() -> None:
    newest = [Resize(mode="linear"), GridSample(mode="linear"), RoiAlign(**REGIONS)]
    inputs: list[list[Any]] = [[X, None, SCALES], [X, GRID], [X, ROIS, INDICES]]
    for operator, given, old in zip(
        newest, inputs, (OLD[1], OLD[4], OLD[6]), strict=True
    ):
        (got,) = framework("reference").evaluate(operator, given)
        assert np.abs(got - by_onnxruntime(*old)).max() > 1e-2


@pytest.mark.parametrize(
    ("operator", "inputs", "said"),
    [
        (Resize(), [X], "needs scales or sizes"),
        (RoiAlign(), [X, ROIS, INDICES], "set sampling_ratio"),
    ],
)
def test_what_is_not_there_is_said(
    operator: Operator, inputs: list[Any], said: str
) -> None:
    with pytest.raises((Deep500Error, ValueError), match=said) as caught:
        framework("reference").evaluate(operator, inputs)
    assert "\n" not in str(caught.value)
