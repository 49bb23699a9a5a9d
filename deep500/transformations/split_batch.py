"""Splits one node into several, each for a part of the batch."""

from ..contracts.network import Network, Node
from ..contracts.operator import TensorSpec
from ..contracts.transformation import Transformation
from ..errors import Deep500Error
from ._rows import check_independent_rows, needed_outputs


class SplitBatch(Transformation):
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
            raise Deep500Error(
                f"a micro-batch of {self.size} examples is none: give 1 or more"
            )

    def apply(self, network: Network) -> None:
        node = network.node(self.node)
        dimension, values = _batch_of(network, node)
        batch = self._batch_size(dimension)
        _fix_dimension(network, dimension, batch)
        if batch <= self.size:
            return
        check_independent_rows(network, node, values)
        full_parts, remainder = divmod(batch, self.size)
        sizes = [self.size] * full_parts
        if remainder:
            sizes.append(remainder)
        _split(network, node, values, sizes)

    def _batch_size(self, dimension: int | str) -> int:
        if isinstance(dimension, str):
            if self.batch is None:
                raise Deep500Error(
                    f"the batch of node {self.node!r} has no fixed size: say it, "
                    f"SplitBatch({self.node!r}, {self.size}, batch=…)"
                )
            return self.batch
        if self.batch not in (None, dimension):
            raise Deep500Error(
                f"node {self.node!r} has a batch of {dimension}, not of {self.batch}"
            )
        return dimension


def _batch_of(network: Network, node: Node) -> tuple[int | str, list[str]]:
    """The first dimension of the first input that is no parameter, and all such inputs that begin with it."""
    specs = network.specs()
    dimensions: dict[str, int | str] = {}
    for value in node.inputs:
        if not isinstance(value, str) or value in network.params:
            continue
        if value in specs and specs[value].shape:
            dimensions[value] = specs[value].shape[0]
    if not dimensions:
        raise Deep500Error(f"node {node.name!r} takes no value with a batch to split")
    batch = next(iter(dimensions.values()))
    split = [value for value, dimension in dimensions.items() if dimension == batch]
    return batch, split


def _fix_dimension(network: Network, dimension: int | str, size: int) -> None:
    """Give a named dimension its size, in every input of the network."""
    for name, tensor in network.inputs.items():
        shape = list(tensor.shape)
        for axis, old_size in enumerate(tensor.shape):
            if old_size == dimension:
                shape[axis] = size
        network.inputs[name] = TensorSpec(tuple(shape), tensor.dtype)
    network.nodes = network.nodes  # infers shapes again


def _split(network: Network, node: Node, values: list[str], sizes: list[int]) -> None:
    """Replace a node by one for each part of these inputs, and nodes that split and concatenate."""
    count = len(sizes)
    for whole in values:
        parts = _numbered(f"{whole}.{node.name}", count)
        split_name = f"{node.name}.split.{whole}"
        network.add_node("Split", (whole, sizes), parts, split_name, axis=0)
    for i in range(count):
        inputs = list(node.inputs)
        for position, value in enumerate(node.inputs):
            if value in values:
                inputs[position] = f"{value}.{node.name}.{i}"
        outputs = [f"{value}.{i}" for value in node.outputs]
        part_name = f"{node.name}.{i}"
        network.add_node(node.operator, inputs, outputs, part_name)
    needed = needed_outputs(network, node)
    network.remove_node(node.name)
    for value in needed:
        parts = _numbered(value, count)
        concat_name = f"{node.name}.concat.{value}"
        network.add_node("Concat", parts, [value], concat_name, axis=0)


def _numbered(name: str, count: int) -> list[str]:
    return [f"{name}.{i}" for i in range(count)]
