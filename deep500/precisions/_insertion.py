"""Where nodes that round go into a network: around its products, which are most of its work."""

from collections.abc import Callable
from dataclasses import replace

from .. import registry
from ..contracts.dtypes import NUMBERS
from ..contracts.network import Network, Node
from ..contracts.operator import Operator

PRODUCTS = ("Gemm", "MatMul", "Conv", "ConvTranspose")
FACTORS = (0, 1)  # their inputs but the bias
# Operators that keep the dtype of what they get and lose nothing by it.
FOLLOWING = (
    "Add", "AveragePool", "Concat", "Dropout", "Flatten", "GlobalAveragePool", "Identity",
    "LeakyRelu", "MaxPool", "Mul", "Relu", "Reshape", "Sigmoid", "Slice", "Squeeze", "Tanh",
    "Transpose", "Unsqueeze",
)  # fmt: skip


def round_factors(network: Network, operator: Callable[[], Operator]) -> None:
    """Round both factors of every product."""
    for node in _products(network):
        for place in FACTORS:
            _insert(network, node.name, place, operator())


def round_trained_weights(network: Network, operator: Callable[[], Operator]) -> None:
    """Round the factors of products that are trained parameters."""
    for node in _products(network):
        for place in FACTORS:
            if node.inputs[place] in network.trainable:
                _insert(network, node.name, place, operator())


def round_gradients(network: Network, operator: Callable[[], Operator]) -> None:
    """Round the gradient of every product's result, which its backward pass starts from."""
    for node in _products(network):
        value = node.outputs[0]
        consumers = network.consumers(value)
        rounded = network.add_node(operator(), [value])
        for consumer in consumers:
            for place, name in enumerate(consumer.inputs):
                if name == value:
                    network.add_edge(rounded, consumer.name, place)


def compute_in(network: Network, dtype: str) -> None:
    """Cast products, and what follows them without loss, to a dtype; all the rest, and every output, is float32."""
    Casting(network, dtype).apply()


class Casting:
    """Builds the nodes of a network anew, with casts in between."""

    def __init__(self, network: Network, dtype: str):
        self.network, self.dtype = network, dtype
        self.dtypes = {name: spec.dtype for name, spec in network.specs().items()}
        self.low: dict[
            str, str
        ] = {}  # values by name, and the narrow ones that stand for them
        self.wide: dict[str, str] = {}  # the other way round
        self.nodes: list[Node] = []

    def apply(self) -> None:
        wanted = {*self.network.outputs, *self.network.state_updates.values()}
        for node in self.network.ordered():
            if not self._runs_low(node):
                self.nodes.append(self._with_inputs(node, self._widened))
                continue
            narrow = self._with_inputs(node, self._narrowed)
            outputs = [self._narrow_output(name) for name in node.outputs]
            self.nodes.append(replace(narrow, outputs=tuple(outputs)))
            for name in wanted.intersection(node.outputs):
                self._widened(name)
        self.network.nodes = self.nodes

    def _runs_low(self, node: Node) -> bool:
        kind = type(node.operator).__name__.partition("_")[0]
        if kind in PRODUCTS:
            return self._is_float(node.outputs[0])
        return kind in FOLLOWING and any(name in self.low for name in node.inputs)

    def _is_float(self, name: str) -> bool:
        return self.dtypes.get(name) == "float32"

    def _with_inputs(self, node: Node, choose: Callable[[str], str]) -> Node:
        inputs = list(node.inputs)
        for place, name in enumerate(inputs):
            if isinstance(name, str) and self._is_float(name):
                inputs[place] = choose(name)
        return replace(node, inputs=tuple(inputs))

    def _narrowed(self, name: str) -> str:
        """The narrow value that stands for one in float32."""
        if name not in self.low:
            self.low[name] = self._cast(name, f"{name}.{self.dtype}", self.dtype)
            self.wide[name] = name
        return self.low[name]

    def _widened(self, name: str) -> str:
        """The value in float32."""
        if name in self.low and name not in self.wide:
            self.wide[name] = self._cast(self.low[name], name, "float32")
        return self.wide.get(name, name)

    def _narrow_output(self, name: str) -> str:
        if not self._is_float(name):
            return name
        self.low[name] = f"{name}.{self.dtype}"
        return self.low[name]

    def _cast(self, source: str, target: str, dtype: str) -> str:
        cast = registry.find("operators", "Cast")(to=NUMBERS[dtype])
        self.nodes.append(Node(f"Cast.{target}", cast, (source,), (target,)))
        return target


def _products(network: Network) -> list[Node]:
    products = []
    for node in network.ordered():
        if type(node.operator).__name__.partition("_")[0] in PRODUCTS:
            products.append(node)
    return products


def _insert(network: Network, node: str, place: int, operator: Operator) -> None:
    """Put a node between an input of a node and whatever it has there."""
    value = network.node(node).inputs[place]
    network.add_edge(network.add_node(operator, [value]), node, place)
