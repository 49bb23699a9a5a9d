"""One node as several, each for a part of the batch."""

from ..contracts.network import Network, Node
from ..contracts.operator import Tensor
from ..contracts.transformation import Transformation
from ..errors import Deep500Error
from ._rows import check_independent_rows, needed_outputs


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
        sizes = [self.size] * (batch // self.size)
        rest = batch % self.size
        if rest:
            sizes.append(rest)
        _split(network, node, values, sizes)

    def _batch_size(self, dimension: int | str) -> int:
        if isinstance(dimension, str):
            if self.batch is None:
                raise Deep500Error(
                    f"the batch of node {self.node!r} has no fixed size: say it, "
                    f"MicroBatch({self.node!r}, {self.size}, batch=…)"
                )
            return self.batch
        if self.batch not in (None, dimension):
            raise Deep500Error(
                f"node {self.node!r} has a batch of {dimension}, not of {self.batch}"
            )
        return dimension


def _batch_of(network: Network, node: Node) -> tuple[int | str, list[str]]:
    """The first dimension of what the node takes besides parameters, and the inputs that have it."""
    specs = network.specs()
    first = {}
    for value in node.inputs:
        if isinstance(value, str) and value not in network.params and value in specs:
            first[value] = next(iter(specs[value].shape), None)
    sizes = [size for size in first.values() if size is not None]
    if not sizes:
        raise Deep500Error(f"node {node.name!r} takes no value with a batch to split")
    return sizes[0], [value for value, size in first.items() if size == sizes[0]]


def _fix_dimension(network: Network, dimension: int | str, size: int) -> None:
    """Give a named dimension its size, in every input of the network."""
    for name, tensor in network.inputs.items():
        shape = [size if one == dimension else one for one in tensor.shape]
        network.inputs[name] = Tensor(tuple(shape), tensor.dtype)
    network.nodes = network.nodes  # shapes are inferred anew


def _split(network: Network, node: Node, values: list[str], sizes: list[int]) -> None:
    count = len(sizes)
    for whole in values:
        parts = _numbered(f"{whole}.{node.name}", count)
        network.add_node(
            "Split", (whole, sizes), parts, f"{node.name}.split.{whole}", axis=0
        )
    for i in range(count):
        inputs = list(node.inputs)
        for place, value in enumerate(node.inputs):
            if value in values:
                inputs[place] = f"{value}.{node.name}.{i}"
        outputs = [f"{value}.{i}" for value in node.outputs]
        network.add_node(node.operator, inputs, outputs, f"{node.name}.{i}")
    needed = needed_outputs(network, node)
    network.remove_node(node.name)
    for value in needed:
        parts = _numbered(value, count)
        network.add_node(
            "Concat", parts, [value], f"{node.name}.concat.{value}", axis=0
        )


def _numbered(name: str, count: int) -> list[str]:
    return [f"{name}.{i}" for i in range(count)]
