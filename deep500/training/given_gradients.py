"""Networks whose gradients are their inputs, to run an optimizer on its own, in any framework."""

from collections.abc import Mapping

import numpy as np

from ..contracts.executor import Executor
from ..contracts.network import Network
from ..frameworks import framework

Arrays = Mapping[str, np.ndarray]
GIVEN = "gradient of "  # prefix of the inputs' names


def fed_network(start: Arrays, dtype: str) -> Network:
    """A network whose inputs are the gradients of its parameters: its loss is the sum of their products.

    This way an optimizer runs in the same training step that a framework uses for any network.
    """
    network = Network("given gradients")
    terms = []
    for name, value in start.items():
        gradient = GIVEN + name
        product, total = f"product of {name}", f"sum of {name}"
        network.add_param(name, np.array(value, dtype))
        network.add_input(gradient, value.shape, dtype)
        network.add_node("Mul", [name, gradient], [product])
        network.add_node("ReduceSum", [product], [total], keepdims=0)
        terms.append(total)
    network.add_node("Sum", terms, ["loss"])
    network.add_output("loss")
    return network


def fed_executor(name: str, start: Arrays, dtype: str) -> Executor:
    """An executor for `fed_network` in the framework of this name."""
    network = fed_network(start, dtype)
    return framework(name).executor(network)


def batch_of(gradients: Arrays, dtype: str) -> dict[str, np.ndarray]:
    """Gradients as the inputs of `fed_network`."""
    return {GIVEN + name: np.array(value, dtype) for name, value in gradients.items()}
