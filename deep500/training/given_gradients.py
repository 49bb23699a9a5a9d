"""Networks whose parameters have the gradients that they are given: an optimizer by itself, on any framework."""

from collections.abc import Mapping

import numpy as np

from ..contracts.executor import Executor
from ..contracts.network import Network
from ..frameworks import framework

Arrays = Mapping[str, np.ndarray]
GIVEN = "gradient of "  # what begins the name of an input


def fed_network(start: Arrays, dtype: str) -> Network:
    """A network whose inputs are the gradients of its parameters: its loss is the sum of their products.

    So an optimizer runs in the training step that a framework would use for any network.
    """
    network = Network("given gradients")
    terms = []
    for name, value in start.items():
        network.add_param(name, np.array(value, dtype))
        network.add_input(GIVEN + name, value.shape, dtype)
        network.add_node("Mul", [name, GIVEN + name], [f"product of {name}"])
        network.add_node(
            "ReduceSum", [f"product of {name}"], [f"sum of {name}"], keepdims=0
        )
        terms.append(f"sum of {name}")
    network.add_node("Sum", terms, ["loss"])
    network.add_output("loss")
    return network


def fed_executor(name: str, start: Arrays, dtype: str) -> Executor:
    """An executor of such a network."""
    return framework(name).executor(fed_network(start, dtype))


def batch_of(gradients: Arrays, dtype: str) -> dict[str, np.ndarray]:
    """Gradients as the inputs of `fed_network`."""
    return {GIVEN + name: np.array(value, dtype) for name, value in gradients.items()}
