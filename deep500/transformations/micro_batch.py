"""One node as several, each for a part of the batch."""

from typing import Any

import numpy as np

from ..contracts.network import Network, Node
from ..contracts.operator import Tensor
from ..contracts.transformation import Transformation
from ..errors import Deep500Error
from ..frameworks import evaluate
from ._editing import wanted_values


class MicroBatch(Transformation):
    """Splits the batch of a node into parts of `size` examples, runs the node for each, and concatenates the results.

    The parts share their parameters, so that gradients add up by themselves. The last part may be smaller. A network
    for any batch size needs `batch`, and takes batches of that size only from then on.
    """

    node: str
    size: int
    batch: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size < 1:
            raise Deep500Error(f"a micro-batch of {self.size} examples is none: give 1 or more")

    def apply(self, network: Network) -> None:
        node = network.node(self.node)
        batch, split_values = self._batch(network, node)
        _fix_batch(network, node, batch, split_values)
        if batch <= self.size:
            return
        _check_rows_are_independent(network, node, split_values)
        full, rest = divmod(batch, self.size)
        sizes = (*(self.size,) * full, *(rest,) * (rest > 0))
        _split(network, node, split_values, sizes)

    def _batch(self, network: Network, node: Node) -> tuple[int, list[str]]:
        """The size of the batch, and the inputs of the node that have it as their first dimension."""
        specs = network.specs()
        values = [name for name in node.inputs if isinstance(name, str)]
        values = [name for name in dict.fromkeys(values) if name not in network.params]
        first = {name: specs[name].shape[0] for name in values if _has_rows(specs.get(name))}
        if not first:
            raise Deep500Error(f"node {node.name!r} takes no value with a batch to split")
        size = next(iter(first.values()))
        if isinstance(size, str) and self.batch is None:
            raise Deep500Error(
                f"the batch of node {node.name!r} has no fixed size: say it, MicroBatch("
                f"{self.node!r}, {self.size}, batch=…)"
            )
        if isinstance(size, int) and self.batch not in (None, size):
            raise Deep500Error(f"node {node.name!r} has a batch of {size}, not of {self.batch}")
        batch = size if isinstance(size, int) else self.batch
        return int(batch or 0), [name for name in first if first[name] == size]


def _has_rows(spec: Tensor | None) -> bool:
    return spec is not None and len(spec.shape) > 0


def _fix_batch(network: Network, node: Node, batch: int, values: list[str]) -> None:
    """Give the named dimension that is the batch its size, in every input of the network."""
    name = network.specs()[values[0]].shape[0]
    for key, tensor in network.inputs.items():
        shape = tuple(batch if size == name else size for size in tensor.shape)
        network.inputs[key] = Tensor(shape, tensor.dtype)
    network.nodes = network.nodes  # shapes are inferred anew


def _split(network: Network, node: Node, values: list[str], sizes: tuple[int, ...]) -> None:
    parts = {value: [f"{value}.{node.name}.{i}" for i in range(len(sizes))] for value in values}
    for value, names in parts.items():
        network.add_node("Split", (value, sizes), names, f"{node.name}.split.{value}", axis=0)
    for i in range(len(sizes)):
        inputs = [parts[value][i] if value in values else value for value in node.inputs]
        outputs = [f"{value}.{i}" for value in node.outputs]
        network.add_node(node.operator, inputs, outputs, f"{node.name}.{i}")
    needed = _needed_outputs(network, node)
    network.remove_node(node.name)
    for value in needed:
        pieces = [f"{value}.{i}" for i in range(len(sizes))]
        network.add_node("Concat", pieces, [value], f"{node.name}.concat.{value}", axis=0)


def _needed_outputs(network: Network, node: Node) -> list[str]:
    wanted = wanted_values(network)
    return [value for value in node.outputs if value in wanted or network.consumers(value)]


def _check_rows_are_independent(network: Network, node: Node, values: list[str]) -> None:
    """Refuse a node that mixes examples, by running it on two random ones, together and one by one."""
    kind = type(node.operator).__name__
    problem = f"node {node.name!r} cannot be split along the batch: {kind}"
    if node.operator.random:
        raise Deep500Error(f"{problem} is random")
    inputs = [_example_input(network, value, values) for value in node.inputs]
    both = _results(node, inputs)
    first, second = (_results(node, _row(node, inputs, values, row)) for row in (0, 1))
    for name in _needed_outputs(network, node):
        expected = both[name]
        if np.ndim(expected) == 0 or len(expected) != 2:
            raise Deep500Error(f"{problem} makes {name!r} without a batch")
        apart = np.concatenate([first[name], second[name]])
        same_shape = apart.shape == expected.shape
        if not same_shape or not np.allclose(apart, expected, 1e-3, 1e-5, equal_nan=True):
            raise Deep500Error(f"{problem} mixes the examples of a batch")


def _results(node: Node, inputs: list[Any]) -> dict[str, np.ndarray]:
    return dict(zip(node.outputs, evaluate(node.operator, inputs), strict=False))


def _example_input(network: Network, value: Any, split: list[str]) -> Any:
    """A parameter or a static input as it is; two random examples of a value that is split."""
    if not isinstance(value, str):
        return value
    if value in network.params:
        return network.params[value]
    spec = network.specs(dict.fromkeys(network.dimensions, 2))[value]
    shape = (2, *spec.shape[1:]) if value in split else spec.shape
    numbers = np.random.default_rng(0).standard_normal(shape)
    if "float" in spec.dtype:
        return numbers.astype(spec.dtype)
    return (numbers > 0).astype(spec.dtype)


def _row(node: Node, inputs: list[Any], split: list[str], row: int) -> list[Any]:
    """The inputs with one example only in the values that are split."""
    rows = []
    for value, array in zip(node.inputs, inputs, strict=True):
        rows.append(array[row : row + 1] if value in split else array)
    return rows
