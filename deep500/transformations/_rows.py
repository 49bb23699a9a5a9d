"""Checks whether a node treats every example of a batch by itself."""

from typing import Any

import numpy as np

from ..contracts.network import Network, Node
from ..errors import Deep500Error
from ..frameworks import evaluate
from ._editing import required_values


def needed_outputs(network: Network, node: Node) -> list[str]:
    """The outputs of a node that are used."""
    required = required_values(network)
    needed = []
    for value in node.outputs:
        if value in required or network.consumers(value):
            needed.append(value)
    return needed


def check_independent_rows(network: Network, node: Node, split: list[str]) -> None:
    """Raise `Deep500Error` for a node that mixes examples: it is run on two random ones, together and one by one.

    `split` names the inputs that hold the examples.
    """
    kind = type(node.operator).__name__
    problem = f"node {node.name!r} cannot be split along the batch: {kind}"
    if node.operator.random:
        raise Deep500Error(f"{problem} is random")
    inputs = [_example_input(network, value, split) for value in node.inputs]
    both_results = _results(node, inputs)
    first_results = _results(node, _one_row(node, inputs, split, 0))
    second_results = _results(node, _one_row(node, inputs, split, 1))
    for name in needed_outputs(network, node):
        together = both_results[name]
        if np.ndim(together) == 0 or len(together) != 2:
            raise Deep500Error(f"{problem} makes {name!r} without a batch")
        separate = np.concatenate([first_results[name], second_results[name]])
        if not _are_close(separate, together):
            raise Deep500Error(f"{problem} mixes the examples of a batch")


def _are_close(separate: np.ndarray, together: np.ndarray) -> bool:
    if separate.shape != together.shape:
        return False
    return np.allclose(separate, together, rtol=1e-3, atol=1e-5, equal_nan=True)


def _results(node: Node, inputs: list[Any]) -> dict[str, np.ndarray]:
    results = evaluate(node.operator, inputs)
    return dict(zip(node.outputs, results, strict=False))


def _example_input(network: Network, value: Any, split: list[str]) -> Any:
    """A parameter or a static input as it is; two random examples of a value that is split."""
    if not isinstance(value, str):
        return value
    if value in network.params:
        return network.params[value]
    sizes = dict.fromkeys(network.dimensions, 2)
    spec = network.specs(sizes)[value]
    shape = list(spec.shape)
    if value in split:
        shape[0] = 2
    numbers = np.random.default_rng(0).standard_normal(shape)
    if "float" in spec.dtype:
        return numbers.astype(spec.dtype)
    return (numbers > 0).astype(spec.dtype)


def _one_row(node: Node, inputs: list[Any], split: list[str], row: int) -> list[Any]:
    """The inputs with one example only in the values that are split."""
    rows = list(inputs)
    for position, value in enumerate(node.inputs):
        if value in split:
            both = inputs[position]
            rows[position] = both[row : row + 1]
    return rows
