"""A network of a single node, which an executor runs exactly as it does within a larger network."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from ...contracts.network import Network, Node
from ...contracts.operator import Operator

PROBE = "deep500.probe"  # the scalar that a single node is differentiated by
FLOAT32 = 1  # in ONNX's numbering of dtypes


def input_name(place: int) -> str:
    return f"input_{place}"


def weight_name(value: str, probe: str = PROBE) -> str:
    return f"{probe}.weight:{value}"


def probe_dtype(dtypes: Collection[str]) -> str:
    """The dtype in which values of these dtypes are weighted and summed."""
    if set(dtypes) == {"float64"}:
        return "float64"
    return "float32"


def without_key(operator: Operator, inputs: Sequence[Any]) -> Sequence[Any]:
    """The inputs without the key of a random operator, which executors add themselves."""
    if not operator.random:
        return inputs
    return inputs[: len(operator.inputs)]


def one_node(
    node: Node, inputs: Sequence[Any], trained: Collection[int] = ()
) -> Network:
    """A network of this node, whose arrays are its inputs; those at the positions `trained` are parameters."""
    network = Network(node.name)
    names: list[Any] = []
    for place, value in enumerate(without_key(node.operator, inputs)):
        name = input_name(place)
        if not isinstance(value, np.ndarray):
            names.append(value)
        elif place in trained:
            param = network.add_param(name, value)
            names.append(param)
        else:
            dtype = value.dtype.name
            names.append(network.add_input(name, value.shape, dtype))
    network.add_node(node.operator, names, list(node.outputs), name=node.name)
    for output in node.outputs:
        network.add_output(output)
    return network


def add_probe(network: Network, dtypes: Mapping[str, str], probe: str = PROBE) -> str:
    """Add a scalar of this name: the sum of these values times their weights, which thereby are its gradients.

    The weights are the values that `weight_name` names, in the dtype that `probe_dtype` returns.
    """
    sum_dtype = probe_dtype(dtypes.values())
    terms = []
    for value, dtype in dtypes.items():
        wide = value
        if dtype != sum_dtype:
            wide_name = f"{probe}.wide:{value}"
            wide = network.add_node("Cast", (value,), [wide_name], to=FLOAT32)
        weight = weight_name(value, probe)
        product_name = f"{probe}.product:{value}"
        product = network.add_node("Mul", (wide, weight), [product_name])
        sum_name = f"{probe}.sum:{value}"
        total = network.add_node("ReduceSum", (product,), [sum_name], keepdims=0)
        terms.append(total)
    return network.add_node("Sum", terms, [probe], name=probe)
