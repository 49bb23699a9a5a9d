"""Shared by transformations: finds the producer, uses, shape and constant of a value, and rewrites nodes."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import numpy as np

from .. import registry
from ..contracts.network import Network, Node
from ..contracts.operator import Operator, TensorSpec
from ._constants import Constants

MOST_FACTORS = 8  # of a product that is analysed
FLOATS = ("float16", "float32", "float64")


def kind(node: Node | None) -> str:
    """The name of a node's operator; "" if there is no node."""
    if node is None:
        return ""
    return type(node.operator).__name__


def operator(name: str, **attributes: Any) -> Operator:
    """The operator of that name."""
    return cast(Operator, registry.find("operators", name)(**attributes))


class Rewriting:
    """One pass over the nodes of a network, in order. `finish` changes the network.

    `specs` are the shapes and dtypes of the values, with names for dimensions whose sizes are known only at run time.
    The values of parameters that nothing trains or updates are constants.
    """

    def __init__(self, network: Network):
        self.network = network
        self.nodes = network.ordered()
        self.specs: dict[str, TensorSpec] = network.specs()
        self._producers: dict[str, Node] = {}
        self._uses: Counter[str] = Counter()
        for node in self.nodes:
            self._producers |= dict.fromkeys(node.outputs, node)
            self._uses.update(_values(node))
        self._uses.update(network.outputs)
        self._uses.update(network.state_updates.values())
        self._fixed = {*network.outputs, *network.state_updates.values()}
        self._aliases: dict[str, str] = {}
        # New nodes by the name of the one that they replace.
        self._replaced: dict[str, list[Node]] = {}
        self._constants: Constants | None = None
        self._names: set[str] | None = None

    # ---- queries for patterns

    def producer(self, value: Any, *kinds: str) -> Node | None:
        """The node that computes a value, if it is of one of these kinds (by default of any)."""
        if not isinstance(value, str):
            return None
        node = self._producers.get(value)
        if kinds and kind(node) not in kinds:
            return None
        return node

    def used_once(self, value: str) -> bool:
        """Whether a single input of a node is the only use of the value."""
        return self._uses[value] == 1 and value not in self._fixed

    def shape(self, value: Any) -> tuple[int | str, ...] | None:
        """The shape of a value, if it is known."""
        spec = self.specs.get(value)
        if spec is None:
            return None
        return spec.shape

    def dtype(self, value: Any) -> str | None:
        """The dtype of a value, if it is known."""
        spec = self.specs.get(value)
        if spec is None:
            return None
        return spec.dtype

    def constant(self, value: Any) -> np.ndarray | None:
        """The array of a value that is the same in every run; None for any other."""
        if self._constants is None:
            self._constants = Constants(self.network, self.nodes, self.specs)
        return self._constants.get(value)

    def number(self, value: Any) -> float | None:
        """The number in a constant of one element; None for any other value."""
        constant = self.constant(value)
        if constant is None or constant.size != 1:
            return None
        return float(constant.reshape(-1)[0])

    def product(self, value: str) -> tuple[float, list[str]]:
        """A value as a number times other values, which products and quotients by numbers combine.

        A product that others use too, or one of more than `MOST_FACTORS`, is not analysed.
        """
        number = 1.0
        factors: list[str] = []
        pending = [value]
        while pending:
            part = pending.pop()
            constant = self.number(part)
            if constant is not None:
                number *= constant
                continue
            node = self.producer(part, "Mul", "Div")
            is_inner = part == value or self.used_once(part)
            is_too_long = len(pending) + len(factors) > MOST_FACTORS
            if node is None or not is_inner or is_too_long:
                factors.append(part)
                continue
            first, second = cast(tuple[str, str], node.inputs)
            divisor = self.number(second)
            if kind(node) == "Mul":
                pending += [second, first]
            elif divisor:
                number /= divisor
                pending.append(first)
            else:
                factors.append(part)
        return number, factors

    def is_close(self, number: float, expected: float, value: str) -> bool:
        """Whether a number is the expected one, up to the rounding of this value's dtype."""
        dtype = self.dtype(value)
        if dtype not in FLOATS:
            return False
        rounding = 4 * float(np.finfo(dtype).eps)
        difference = abs(number - expected)
        return difference <= rounding * abs(expected)

    def in_any_order(self, node: Node) -> Iterator[tuple[str, str]]:
        """The two inputs of a node, both ways round."""
        first, second = cast(tuple[str, str], node.inputs)
        yield first, second
        yield second, first

    # ---- changes

    def bypass(self, old: str, new: str) -> bool:
        """Replace all uses of a value by another one; returns False for an output of the network, which stays."""
        if old in self._fixed:
            return False
        self._aliases[old] = self.current(new)
        return True

    def replace(self, node: Node, *nodes: Node) -> None:
        """Put other nodes in the place of one."""
        self._replaced[node.name] = [*nodes]
        for new in nodes:
            self._producers |= dict.fromkeys(new.outputs, new)

    def new_name(self, stem: str) -> str:
        """A name that no node and no value has."""
        if self._names is None:
            network = self.network
            self._names = {*network.inputs, *network.params, *self._producers}
            for node in self.nodes:
                self._names.add(node.name)
        name = stem
        count = 0
        while name in self._names:
            count += 1
            name = f"{stem}_{count}"
        self._names.add(name)
        return name

    def current(self, value: str) -> str:
        """The value that replaces this one; the value itself if none does."""
        while value in self._aliases:
            value = self._aliases[value]
        return value

    def finish(self) -> None:
        """Rewrite the network, without the nodes that are not needed any more."""
        if not self._aliases and not self._replaced:
            return
        nodes: list[Node] = []
        for node in self.nodes:
            replacements = self._replaced.get(node.name, [node])
            nodes += map(self._with_aliases, replacements)
        self.network.nodes = self._without_unused(nodes)

    def _with_aliases(self, node: Node) -> Node:
        if self._aliases.keys().isdisjoint(_values(node)):
            return node
        inputs: list[Any] = []
        for value in node.inputs:
            if isinstance(value, str):
                value = self.current(value)
            inputs.append(value)
        return replace(node, inputs=tuple(inputs))

    def _without_unused(self, nodes: list[Node]) -> list[Node]:
        """The nodes that are needed, or that were not needed before either."""
        needed = set(self._fixed)
        remaining = []
        for node in reversed(nodes):
            was_used = any(self._uses[output] for output in node.outputs)
            if was_used and needed.isdisjoint(node.outputs):
                continue
            needed.update(_values(node))
            remaining.append(node)
        remaining.reverse()
        return remaining


def _values(node: Node) -> list[str]:
    return [name for name in node.inputs if isinstance(name, str)]
