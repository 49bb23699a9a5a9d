"""A text attribute whose values ONNX lists takes no other."""

import re
from typing import Any

import onnx
import pytest

import deep500 as d5
from deep500.errors import Deep500Error

NEEDED: dict[str, dict[str, Any]] = {
    "AveragePool": {"kernel_shape": (2, 2)},
    "Cast": {"to": 1},
    "DepthToSpace": {"blocksize": 2},
    "GRU": {"hidden_size": 3},
    "LSTM": {"hidden_size": 3},
    "LinearAttention": {"q_num_heads": 1, "kv_num_heads": 1},
    "LpPool": {"kernel_shape": (2, 2)},
    "MaxPool": {"kernel_shape": (2, 2)},
    "RNN": {"hidden_size": 3},
    "Momentum": {"alpha": 1.0, "beta": 1.0, "norm_coefficient": 0.0},
    "SpaceToDepth": {"blocksize": 2},
}
CHOICES = [
    ("AveragePool", "auto_pad"),
    ("BitShift", "direction"),
    ("Cast", "round_mode"),
    ("CastLike", "round_mode"),
    ("CausalConvWithState", "activation"),
    ("Conv", "auto_pad"),
    ("ConvInteger", "auto_pad"),
    ("ConvTranspose", "auto_pad"),
    ("DepthToSpace", "mode"),
    ("GRU", "direction"),
    ("Gelu", "approximate"),
    ("GridSample", "mode"),
    ("GridSample", "padding_mode"),
    ("LSTM", "direction"),
    ("LinearAttention", "update_rule"),
    ("LpPool", "auto_pad"),
    ("MaxPool", "auto_pad"),
    ("Momentum", "mode"),
    ("NegativeLogLikelihoodLoss", "reduction"),
    ("Pad", "mode"),
    ("QLinearConv", "auto_pad"),
    ("RNN", "direction"),
    ("Resize", "coordinate_transformation_mode"),
    ("Resize", "keep_aspect_ratio_policy"),
    ("Resize", "mode"),
    ("Resize", "nearest_mode"),
    ("RoiAlign", "coordinate_transformation_mode"),
    ("RoiAlign", "mode"),
    ("ScatterElements", "reduction"),
    ("ScatterND", "reduction"),
    ("SoftmaxCrossEntropyLoss", "reduction"),
    ("SpaceToDepth", "mode"),
    ("TensorScatter", "mode"),
    ("Upsample", "mode"),
]


@pytest.mark.parametrize(("name", "attribute"), CHOICES)
def test_a_value_that_onnx_does_not_list_is_refused(name: str, attribute: str) -> None:
    operator = getattr(d5.operators, name)
    needed = NEEDED.get(name, {})
    with pytest.raises(Deep500Error, match=f"{attribute} of {name} is 'sigmoid', and"):
        operator(**needed, **{attribute: "sigmoid"})


def _described(name: str, attribute: str) -> str:
    """What ONNX says of the attribute, in all opsets."""
    said = []
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.name == name and attribute in schema.attributes:
            said.append(schema.attributes[attribute].description)
    return " ".join(said)


def test_every_value_that_is_wanted_is_one_of_onnx() -> None:
    """What the refusal names stands in ONNX's description of the attribute, and can be given."""
    for name, attribute in CHOICES:
        operator = getattr(d5.operators, name)
        needed = NEEDED.get(name, {})
        with pytest.raises(Deep500Error) as caught:
            operator(**needed, **{attribute: "sigmoid"})
        wanted = re.findall(r"'(\w+)'", str(caught.value))[1:]
        assert len(wanted) > 1
        for value in wanted:
            assert getattr(operator(**needed, **{attribute: value}), attribute) == value
        description = _described(name, attribute)
        assert all(value in description for value in wanted), (name, attribute)


def test_a_node_with_such_a_value_is_refused() -> None:
    network = d5.Network("gelu")
    network.add_input("x", (2, 3))
    with pytest.raises(Deep500Error, match="'none' or 'tanh' is wanted"):
        network.add_node("Gelu", ["x"], ["y"], approximate="sigmoid")
