"""One node as a network of its own, run exactly as an executor runs it among others."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from ....contracts.network import Network, Node
from ....contracts.operator import Operator

PROBE = "deep500.probe"  # the scalar at the end of a single node
FLOAT32 = 1  # in ONNX's numbering


def input_name(place: int) -> str:
    return f"input_{place}"


def weight_name(value: str, probe: str = PROBE) -> str:
    return f"{probe}.weight:{value}"


def probe_dtype(dtypes: Collection[str]) -> str:
    """The dtype that values of these dtypes are weighed and summed in."""
    return "float64" if {*dtypes} == {"float64"} else "float32"


def without_key(operator: Operator, inputs: Sequence[Any]) -> Sequence[Any]:
    """Executors bring the keys of random operators themselves."""
    return inputs[: len(operator.inputs)] if operator.random else inputs


def one_node(
    node: Node, inputs: Sequence[Any], trained: Collection[int] = ()
) -> Network:
    """The node with its arrays as the network's inputs; those in the places `trained` are parameters."""
    network = Network(node.name)
    names: list[Any] = []
    for place, value in enumerate(without_key(node.operator, inputs)):
        name = input_name(place)
        if not isinstance(value, np.ndarray):
            names.append(value)
        elif place in trained:
            names.append(network.add_param(name, value))
        else:
            names.append(network.add_input(name, value.shape, value.dtype.name))
    network.add_node(node.operator, names, list(node.outputs), name=node.name)
    for output in node.outputs:
        network.add_output(output)
    return network


def add_probe(network: Network, dtypes: Mapping[str, str], probe: str = PROBE) -> str:
    """A scalar of this name that is the sum of these values times weights, which so are their gradients.

    The weights are the values that `weight_name` names, in the dtype that `probe_dtype` says.
    """
    summed = probe_dtype(dtypes.values())
    terms = []
    for value, dtype in dtypes.items():
        wide = value
        if dtype != summed:
            wide = network.add_node(
                "Cast", (value,), [f"{probe}.wide:{value}"], to=FLOAT32
            )
        weighed = [f"{probe}.product:{value}"]
        product = network.add_node("Mul", (wide, weight_name(value, probe)), weighed)
        total = [f"{probe}.sum:{value}"]
        terms.append(network.add_node("ReduceSum", (product,), total, keepdims=0))
    return network.add_node("Sum", terms, [probe], name=probe)
