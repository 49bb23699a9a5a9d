"""What transformations share: who makes a value, who uses it, its shape, its constant, and how nodes are rewritten."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import numpy as np

from .. import registry
from ..contracts.network import Network, Node
from ..contracts.operator import Operator, Tensor
from ._constants import Constants

MOST_FACTORS = 8  # of a product that is looked into
FLOATS = ("float16", "float32", "float64")


def kind(node: Node | None) -> str:
    """The name of a node's operator; "" if there is no node."""
    return "" if node is None else type(node.operator).__name__


def operator(name: str, **attributes: Any) -> Operator:
    """The operator of that name."""
    return cast(Operator, registry.find("operators", name)(**attributes))


class Rewriting:
    """One pass over the nodes of a network, in order. `finish` puts the result into the network.

    `specs` are the shapes and dtypes of the values, with names where a dimension has no size before a run. The values
    of parameters that nothing trains or updates are constants.
    """

    def __init__(self, network: Network):
        self.network = network
        self.nodes = network.ordered()
        self.specs: dict[str, Tensor] = network.specs()
        self._makers: dict[str, Node] = {}
        self._uses: Counter[str] = Counter()
        for node in self.nodes:
            self._makers |= dict.fromkeys(node.outputs, node)
            self._uses.update(_values(node))
        self._uses.update(network.outputs)
        self._uses.update(network.state_updates.values())
        self._fixed = {*network.outputs, *network.state_updates.values()}
        self._aliases: dict[str, str] = {}
        self._replaced: dict[
            str, list[Node]
        ] = {}  # nodes, by the name of the one they replace
        self._constants: Constants | None = None
        self._names: set[str] | None = None

    # ---- what a pattern asks for

    def maker(self, value: Any, *kinds: str) -> Node | None:
        """The node that makes a value, if it is of one of these kinds (or of any)."""
        node = self._makers.get(value) if isinstance(value, str) else None
        return node if node and (not kinds or kind(node) in kinds) else None

    def used_once(self, value: str) -> bool:
        """Whether one node uses the value, and nobody else does."""
        return self._uses[value] == 1 and value not in self._fixed

    def shape(self, value: Any) -> tuple[int | str, ...] | None:
        """Its shape, if that is known."""
        spec = self.specs.get(value)
        return None if spec is None else spec.shape

    def dtype(self, value: Any) -> str | None:
        """Its dtype, if that is known."""
        spec = self.specs.get(value)
        return None if spec is None else spec.dtype

    def constant(self, value: Any) -> np.ndarray | None:
        """The value, if every run has the same one."""
        if self._constants is None:
            self._constants = Constants(self.network, self.nodes, self.specs)
        return self._constants.get(value)

    def number(self, value: Any) -> float | None:
        """The only number in a constant."""
        constant = self.constant(value)
        return (
            float(constant.reshape(-1)[0])
            if constant is not None and constant.size == 1
            else None
        )

    def product(self, value: str) -> tuple[float, list[str]]:
        """A value as a number times other values: what products, and quotients by numbers, make of these.

        A product that others use too, or one of more than `MOST_FACTORS`, is not looked into.
        """
        number = 1.0
        factors: list[str] = []
        todo = [value]
        while todo:
            part = todo.pop()
            constant = self.number(part)
            node = self.maker(part, "Mul", "Div")
            is_inner = part == value or self.used_once(part)
            divisor = (
                self.number(node.inputs[1]) if node and kind(node) == "Div" else None
            )
            if constant is not None:
                number *= constant
            elif not node or not is_inner or len(todo) + len(factors) > MOST_FACTORS:
                factors.append(part)
            elif kind(node) == "Mul":
                todo += [cast(str, node.inputs[1]), cast(str, node.inputs[0])]
            elif divisor:
                number /= divisor
                todo.append(cast(str, node.inputs[0]))
            else:
                factors.append(part)
        return number, factors

    def is_close(self, number: float, expected: float, value: str) -> bool:
        """Whether a number is the expected one, as exactly as the dtype of this value can tell."""
        dtype = self.dtype(value)
        if dtype not in FLOATS:
            return False
        rounding = 4 * float(np.finfo(dtype).eps)
        return abs(number - expected) <= rounding * abs(expected)

    def in_any_order(self, node: Node) -> Iterator[tuple[str, str]]:
        """The two inputs of a node, both ways round."""
        left, right = cast(tuple[str, str], node.inputs)
        yield left, right
        yield right, left

    # ---- what a pass does

    def bypass(self, old: str, new: str) -> bool:
        """Let those that use a value use another one; False for an output of the network, which keeps its maker."""
        if old in self._fixed:
            return False
        self._aliases[old] = self.current(new)
        return True

    def replace(self, node: Node, *nodes: Node) -> None:
        """Put other nodes in the place of one."""
        self._replaced[node.name] = [*nodes]
        for new in nodes:
            self._makers |= dict.fromkeys(new.outputs, new)

    def new_name(self, stem: str) -> str:
        """A name that no node and no value has."""
        if self._names is None:
            self._names = {*self.network.inputs, *self.network.params, *self._makers}
            self._names |= {node.name for node in self.nodes}
        name, count = stem, 0
        while name in self._names:
            count += 1
            name = f"{stem}_{count}"
        self._names.add(name)
        return name

    def current(self, value: str) -> str:
        """The value that stands for another one now."""
        while value in self._aliases:
            value = self._aliases[value]
        return value

    def finish(self) -> None:
        """Rewrite the network, without the nodes that nobody needs any more."""
        if not self._aliases and not self._replaced:
            return
        nodes: list[Node] = []
        for node in self.nodes:
            nodes += [
                self._with_aliases(new) for new in self._replaced.get(node.name, [node])
            ]
        self.network.nodes = self._without_unused(nodes)

    def _with_aliases(self, node: Node) -> Node:
        if self._aliases.keys().isdisjoint(_values(node)):
            return node
        inputs = [self.current(i) if isinstance(i, str) else i for i in node.inputs]
        return replace(node, inputs=tuple(inputs))

    def _without_unused(self, nodes: list[Node]) -> list[Node]:
        """Nodes whose results nobody used before either stay."""
        needed = set(self._fixed)
        remaining = []
        for node in reversed(nodes):
            was_used = any(self._uses[output] for output in node.outputs)
            if was_used and needed.isdisjoint(node.outputs):
                continue
            needed.update(_values(node))
            remaining.append(node)
        return remaining[::-1]


def _values(node: Node) -> list[str]:
    return [name for name in node.inputs if isinstance(name, str)]
