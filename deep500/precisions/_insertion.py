"""Inserts rounding nodes into a network: around its products, which are most of its work."""

from collections.abc import Callable
from dataclasses import replace

from .. import registry
from ..contracts.dtypes import NUMBERS
from ..contracts.network import Network, Node
from ..contracts.operator import Operator

PRODUCTS = ("Gemm", "MatMul", "Conv", "ConvTranspose")
FACTORS = (0, 1)  # the inputs of a product without the bias
# Operators that keep the dtype of their inputs without loss of accuracy.
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
    """Round the gradient of every product's result, from which the product's own gradients are computed."""
    for node in _products(network):
        value = node.outputs[0]
        consumers = network.consumers(value)
        rounded = network.add_node(operator(), [value])
        for consumer in consumers:
            for place, name in enumerate(consumer.inputs):
                if name == value:
                    network.add_edge(rounded, consumer.name, place)


def compute_in(network: Network, dtype: str) -> None:
    """Compute products, and the operators of FOLLOWING after them, in a dtype; all others, and outputs, in float32."""
    casting = Casting(network, dtype)
    casting.apply()


class Casting:
    """Rebuilds the nodes of a network with casts between them."""

    def __init__(self, network: Network, dtype: str):
        self.network = network
        self.dtype = dtype
        specs = network.specs()
        self.dtypes = {name: spec.dtype for name, spec in specs.items()}
        # the names of the narrow and of the float32 versions of values, by the original name
        self.low: dict[str, str] = {}
        self.wide: dict[str, str] = {}
        self.nodes: list[Node] = []

    def apply(self) -> None:
        network = self.network
        wide_outputs = {*network.outputs, *network.state_updates.values()}
        for node in network.ordered():
            if not self._runs_low(node):
                wide = self._with_inputs(node, self._widened)
                self.nodes.append(wide)
                continue
            narrow = self._with_inputs(node, self._narrowed)
            outputs = [self._narrow_output(name) for name in node.outputs]
            narrow = replace(narrow, outputs=tuple(outputs))
            self.nodes.append(narrow)
            for name in wide_outputs.intersection(node.outputs):
                self._widened(name)
        network.nodes = self.nodes

    def _runs_low(self, node: Node) -> bool:
        kind = _operator_name(node)
        if kind in PRODUCTS:
            return self._is_float(node.outputs[0])
        if kind not in FOLLOWING:
            return False
        return any(name in self.low for name in node.inputs)

    def _is_float(self, name: str) -> bool:
        return self.dtypes.get(name) == "float32"

    def _with_inputs(self, node: Node, choose: Callable[[str], str]) -> Node:
        inputs = list(node.inputs)
        for place, name in enumerate(inputs):
            if isinstance(name, str) and self._is_float(name):
                inputs[place] = choose(name)
        return replace(node, inputs=tuple(inputs))

    def _narrowed(self, name: str) -> str:
        """The name of the narrow version of a value, which is cast if there is none yet."""
        if name not in self.low:
            narrow = f"{name}.{self.dtype}"
            self.low[name] = self._cast(name, narrow, self.dtype)
            self.wide[name] = name
        return self.low[name]

    def _widened(self, name: str) -> str:
        """The name of the float32 version of a value, which is cast if there is none yet."""
        if name in self.low and name not in self.wide:
            self.wide[name] = self._cast(self.low[name], name, "float32")
        return self.wide.get(name, name)

    def _narrow_output(self, name: str) -> str:
        if not self._is_float(name):
            return name
        narrow = f"{name}.{self.dtype}"
        self.low[name] = narrow
        return narrow

    def _cast(self, source: str, target: str, dtype: str) -> str:
        operator = registry.find("operators", "Cast")
        cast = operator(to=NUMBERS[dtype])
        node = Node(f"Cast.{target}", cast, (source,), (target,))
        self.nodes.append(node)
        return target


def _products(network: Network) -> list[Node]:
    return [node for node in network.ordered() if _operator_name(node) in PRODUCTS]


def _operator_name(node: Node) -> str:
    """The name of the node's operator without a version, such as Conv for Conv_11."""
    name, _, _ = type(node.operator).__name__.partition("_")
    return name


def _insert(network: Network, node: str, place: int, operator: Operator) -> None:
    """Apply an operator to one input of a node."""
    value = network.node(node).inputs[place]
    result = network.add_node(operator, [value])
    network.add_edge(result, node, place)
