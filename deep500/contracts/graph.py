"""Nodes of a network, and who makes and uses each value: what an edit costs is what it touches."""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from ..errors import Deep500Error
from .operator import Operator, Tensor


@dataclass(frozen=True)
class Node:
    """One operator in a network.

    An input is the name of a value; None is an optional one left out; a Python value is a static one. A name in the
    place of a static one is that of a value which only a run brings.
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
        """The names of values that stand for static inputs, by their places."""
        if not self.operator.static:
            return {}
        names = self.operator.input_names(len(self.inputs))
        places = {}
        for place, (name, value) in enumerate(zip(names, self.inputs, strict=True)):
            if isinstance(value, str) and name in self.operator.static:
                places[place] = value
        return places


@dataclass(frozen=True)
class Subgraph:
    """Nodes that an operator runs by itself: the branch of an If, the body of a Loop. They see its inputs only."""

    inputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]

    def infer(self, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        known = dict(zip(self.inputs, tensors, strict=True))
        for node in self.nodes:
            if node.deciding:
                raise TypeError(f"the shapes of node {node.name!r} depend on values")
            inputs = [known[i] if isinstance(i, str) else i for i in node.inputs]
            known |= zip(node.outputs, node.operator.infer(*inputs), strict=False)
        return tuple(known[name] for name in self.outputs)


def in_evaluation(node: Node) -> Node:
    """The node as it is when nothing is learnt."""
    inner = {
        name: replace(graph, nodes=tuple(map(in_evaluation, graph.nodes)))
        for name, graph in node.operator.settings.items()
        if isinstance(graph, Subgraph)
    }
    if inner:
        return replace(node, operator=replace(node.operator, **inner))
    if "training_mode" in node.operator.static:
        place = [*node.operator.inputs].index("training_mode")
        inputs = [None if i == place else name for i, name in enumerate(node.inputs)]
        return replace(node, inputs=tuple(inputs))
    if not node.operator.settings.get("training_mode"):
        return node
    return replace(node, operator=replace(node.operator, training_mode=0))  # type: ignore[call-arg]


class Graph:
    """Nodes in the order in which they came, each under its own name."""

    def __init__(self, nodes: Iterable[Node] = ()):
        self.nodes: dict[str, Node] = {}
        self.producers: dict[str, str] = {}  # the node that makes a value
        self._consumers: dict[str, dict[str, None]] = {}  # the nodes that use a value
        self._places: dict[
            str, int
        ] = {}  # of the nodes, in the order in which they came
        self._count = 0  # of all nodes that ever came
        self._in_order = True  # whether every value is made before it is used
        self._suffixes: dict[str, int] = {}  # the next number to try behind a name
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
        """Put a node in the place of the one of its name."""
        self._unlink(self.nodes[node.name])
        self.nodes[node.name] = node
        self._link(node)
        if not self._stands_in_order(node):
            self._in_order = False

    def consumers(self, value: str) -> list[Node]:
        """The nodes that use a value, in the order in which they came to use it."""
        return [self.nodes[name] for name in self._consumers.get(value, ())]

    def depends(self, value: str, node: str) -> bool:
        """Whether a value is computed from what a node makes."""
        end = self.producers.get(value)
        if end is None:
            return False
        if self._in_order and self._places[end] < self._places[node]:
            return False
        reached = {node}
        todo = [node]
        while todo and end not in reached:
            for output in self.nodes[todo.pop()].outputs:
                later = self._consumers.get(output, {}).keys() - reached
                reached |= later
                todo.extend(later)
        return end in reached

    def ordered(self) -> list[Node]:
        """The nodes in an order in which every value is made before it is used."""
        return [*self.nodes.values()] if self._in_order else self._sorted()

    def check_closed(self, sources: Collection[str]) -> None:
        """Refuse a node that takes what nothing makes; `sources` come from elsewhere."""
        for node in self.nodes.values():
            for value in node.values:
                if value not in self.producers and value not in sources:
                    raise _open_end(node, value)

    def free_name(self, stem: str, taken: Callable[[str], bool]) -> str:
        """A name that no node has and that is not taken: the stem, or the stem with a number."""
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
        users = [
            name for value in node.outputs for name in self._consumers.get(value, ())
        ]
        return all(self._places[name] > place for name in users)

    def _sorted(self) -> list[Node]:
        """The order in which the nodes came, as far as their values allow."""
        waiting: dict[str, int] = {}
        ready: deque[Node] = deque()
        for node in self.nodes.values():
            waiting[node.name] = len(self.producers.keys() & node.values)
            if not waiting[node.name]:
                ready.append(node)
        order = []
        while ready:
            order.append(node := ready.popleft())
            for value in node.outputs:
                for user in self.consumers(value):
                    waiting[user.name] -= 1
                    if not waiting[user.name]:
                        ready.append(user)
        if len(order) < len(self.nodes):
            made = {value for node in order for value in node.outputs}
            stuck = next(node for node in self.nodes.values() if waiting[node.name])
            raise _open_end(
                stuck, next(iter(self.producers.keys() & stuck.values - made))
            )
        return order


def _open_end(node: Node, value: str) -> Deep500Error:
    return Deep500Error(
        f"node {node.name!r} needs {value!r}, which nothing makes (or a cycle does)"
    )
