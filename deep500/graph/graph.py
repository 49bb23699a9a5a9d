"""Nodes of a network, with the producer and the consumers of each value; an edit costs only what it touches."""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from ..contracts.operator import Operator, TensorSpec
from ..errors import Deep500Error


@dataclass(frozen=True)
class Node:
    """One operator in a network.

    An input is the name of a value, None for an omitted optional input, or the Python value of a static input. If a
    static input is a name, its value is computed when the network runs.
    """

    name: str
    operator: Operator
    inputs: tuple[str | tuple | None, ...]
    outputs: tuple[str, ...]

    @property
    def values(self) -> set[str]:
        """The names of the values that it takes."""
        return {name for name in self.inputs if isinstance(name, str)}

    @property
    def deciding(self) -> dict[int, str]:
        """The names of the values that are computed for static inputs, by the positions of these inputs."""
        if not self.operator.static:
            return {}
        names = self.operator.input_names(len(self.inputs))
        values = {}
        for place, name in enumerate(names):
            value = self.inputs[place]
            if isinstance(value, str) and name in self.operator.static:
                values[place] = value
        return values


@dataclass(frozen=True)
class Subgraph:
    """Nodes that an operator runs itself: the branch of an If, the body of a Loop. They see only its inputs."""

    inputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]

    def infer(self, tensors: Sequence[TensorSpec]) -> tuple[TensorSpec, ...]:
        specs = dict(zip(self.inputs, tensors, strict=True))
        for node in self.nodes:
            if node.deciding:
                raise TypeError(f"the shapes of node {node.name!r} depend on values")
            inputs = [specs[i] if isinstance(i, str) else i for i in node.inputs]
            outputs = node.operator.infer(*inputs)
            specs.update(zip(node.outputs, outputs, strict=False))
        return tuple(specs[name] for name in self.outputs)


def in_evaluation(node: Node) -> Node:
    """The node in evaluation mode: nothing is learnt."""
    operator = node.operator
    subgraphs: dict[str, Subgraph] = {}
    for name, graph in operator.settings.items():
        if isinstance(graph, Subgraph):
            nodes = tuple(map(in_evaluation, graph.nodes))
            subgraphs[name] = replace(graph, nodes=nodes)
    if subgraphs:
        return replace(node, operator=replace(operator, **subgraphs))
    if "training_mode" in operator.static:
        place = [*operator.inputs].index("training_mode")
        inputs = list(node.inputs)
        if place < len(inputs):
            inputs[place] = None
        return replace(node, inputs=tuple(inputs))
    if not operator.settings.get("training_mode"):
        return node
    return replace(node, operator=replace(operator, training_mode=0))  # type: ignore[call-arg]


class Graph:
    """Nodes by name, in the order in which they were added."""

    def __init__(self, nodes: Iterable[Node] = ()):
        self.nodes: dict[str, Node] = {}
        self.producers: dict[str, str] = {}  # the node that computes a value
        # the nodes that use a value
        self._consumers: dict[str, dict[str, None]] = {}
        self._places: dict[str, int] = {}  # when each node was added
        self._count = 0  # of all nodes ever added
        # whether every value is computed before it is used
        self._in_order = True
        # the next number to try after a name
        self._suffixes: dict[str, int] = {}
        for node in nodes:
            self.append(node)

    def append(self, node: Node) -> None:
        if any(self._consumers.get(value) for value in node.outputs):
            self._in_order = False
        self.nodes[node.name] = node
        self._places[node.name] = self._count
        self._count += 1
        self._link(node)

    def remove(self, name: str) -> Node:
        node = self.nodes.pop(name)
        del self._places[name]
        self._unlink(node)
        return node

    def replace(self, node: Node) -> None:
        """Replace the node of the same name."""
        self._unlink(self.nodes[node.name])
        self.nodes[node.name] = node
        self._link(node)
        if not self._stands_in_order(node):
            self._in_order = False

    def consumers(self, value: str) -> list[Node]:
        """The nodes that use a value, in the order in which they were connected to it."""
        return [self.nodes[name] for name in self._consumers.get(value, ())]

    def depends(self, value: str, node: str) -> bool:
        """Whether a value is computed, directly or indirectly, from the outputs of a node."""
        producer = self.producers.get(value)
        if producer is None:
            return False
        if self._in_order and self._places[producer] < self._places[node]:
            return False
        reached = {node}
        unvisited = [node]
        while unvisited and producer not in reached:
            visited = self.nodes[unvisited.pop()]
            for output in visited.outputs:
                new = self._consumers.get(output, {}).keys() - reached
                reached |= new
                unvisited.extend(new)
        return producer in reached

    def ordered(self) -> list[Node]:
        """The nodes in an order in which every value is computed before it is used."""
        if self._in_order:
            return [*self.nodes.values()]
        return self._sorted()

    def check_closed(self, sources: Collection[str]) -> None:
        """Raise a Deep500Error if a node takes a value that is neither computed nor one of `sources`."""
        for node in self.nodes.values():
            for value in node.values:
                if value not in self.producers and value not in sources:
                    raise _open_end(node, value)

    def free_name(self, stem: str, taken: Callable[[str], bool]) -> str:
        """An unused name: the stem, or the stem with a number."""
        while True:
            number = self._suffixes.get(stem, 0)
            name = f"{stem}_{number}" if number else stem
            self._suffixes[stem] = number + 1
            if name not in self.nodes and not taken(name):
                return name

    def _link(self, node: Node) -> None:
        for value in node.outputs:
            self.producers[value] = node.name
        for value in node.values:
            self._consumers.setdefault(value, {})[node.name] = None

    def _unlink(self, node: Node) -> None:
        for value in node.outputs:
            self.producers.pop(value, None)
        for value in node.values:
            self._consumers[value].pop(node.name, None)

    def _stands_in_order(self, node: Node) -> bool:
        place = self._places[node.name]
        for value in node.values:
            producer = self.producers.get(value)
            if producer is not None and self._places[producer] >= place:
                return False
        for value in node.outputs:
            for consumer in self._consumers.get(value, ()):
                if self._places[consumer] <= place:
                    return False
        return True

    def _sorted(self) -> list[Node]:
        """The nodes in topological order; otherwise, in the order in which they were added."""
        missing_values: dict[str, int] = {}  # not yet computed, for each node
        ready: deque[Node] = deque()
        for node in self.nodes.values():
            count = len(self.producers.keys() & node.values)
            missing_values[node.name] = count
            if not count:
                ready.append(node)
        order = []
        while ready:
            node = ready.popleft()
            order.append(node)
            for value in node.outputs:
                for consumer in self.consumers(value):
                    missing_values[consumer.name] -= 1
                    if not missing_values[consumer.name]:
                        ready.append(consumer)
        if len(order) < len(self.nodes):
            stuck = next(n for n in self.nodes.values() if missing_values[n.name])
            raise self._cycle(order, stuck)
        return order

    def _cycle(self, order: Sequence[Node], stuck: Node) -> Deep500Error:
        """The error for a node that cannot come after those in `order`, which are all that can be computed."""
        computed: set[str] = set()
        for node in order:
            computed.update(node.outputs)
        missing = self.producers.keys() & stuck.values - computed
        return _open_end(stuck, next(iter(missing)))


def _open_end(node: Node, value: str) -> Deep500Error:
    """The error for a node with an input that nothing computes."""
    return Deep500Error(
        f"node {node.name!r} needs {value!r}, which nothing makes (or a cycle does)"
    )
