"""Shapes kept while a network is edited, so that an edit that can never fit is refused at once."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import Deep500Error
from .graph import Node
from .operator import Tensor
from .shape_inference import (
    Mismatch,
    Specs,
    node_specs,
    sized,
    spec_of,
    trial_sizes,
    uniform_sizes,
)

if TYPE_CHECKING:
    from .network import Network


class ShapeTracker:
    """The shapes of what nodes make, for one size of every named dimension; inferred when first needed.

    An operator that cannot take its inputs at that size may still fit another one: several are tried before a node
    is refused.
    """

    def __init__(self, network: "Network"):
        self.network = network
        self._specs: Specs | None = None

    def follow(self, changed: Node) -> None:
        """Take up a new node; refuses one that can never take its inputs. What follows from it is inferred again."""
        if self._specs is None:
            self._specs = self.network.specs(trial_sizes(self.network.inputs.values()))
        self._note(changed, self._fitting(changed))
        todo = self._users(changed)
        while todo:
            _, node = todo.popitem()
            try:
                results = node_specs(node, self._inputs(node))
            except (
                Mismatch
            ):  # whoever runs the network will say so, unless this node is edited too
                results = None
            if self._note(node, results):
                todo |= self._users(node)

    def forget(self, node: Node) -> None:
        """Drop what a node made."""
        for value in node.outputs:
            if self._specs is not None:
                self._specs.pop(value, None)

    def _users(self, node: Node) -> dict[str, Node]:
        users: dict[str, Node] = {}
        for value in node.outputs:
            users |= {user.name: user for user in self.network.consumers(value)}
        return users

    def _note(self, node: Node, results: Sequence[Tensor] | None) -> bool:
        """Keep what a node makes (None: not known); returns whether that is new."""
        specs = self._specs or {}
        before = [specs.pop(name, None) for name in node.outputs]
        if results is not None:
            specs.update(zip(node.outputs, results, strict=False))
        self._specs = specs
        return before != [specs.get(name) for name in node.outputs]

    def _fitting(self, node: Node) -> tuple[Tensor, ...] | None:
        try:
            return node_specs(node, self._inputs(node))
        except Mismatch as error:
            if self._fits_another_size(node):
                return None
            inputs = ", ".join(
                self._described(name) for name in node.inputs if name is not None
            )
            operator = type(node.operator).__name__
            raise Deep500Error(
                f"node {node.name!r} ({operator}) cannot take {inputs}: {error}"
            ) from None

    def _fits_another_size(self, node: Node) -> bool:
        for sizes in uniform_sizes(self.network.dimensions):
            try:
                node_specs(node, self.network.specs(sizes))
            except Mismatch:
                continue
            return True
        return False

    def _described(self, value: Any) -> str:
        spec = self.network.specs().get(value) if isinstance(value, str) else None
        return (
            f"{value}"
            if spec is None
            else f"{value} ({', '.join(map(str, spec.shape))})"
        )

    def _inputs(self, node: Node) -> Specs:
        """Shapes of the inputs of a node, as far as they are known."""
        network, made = self.network, self._specs or {}
        sizes = trial_sizes(network.inputs.values())
        specs = {}
        for name in node.values:
            if name in network.inputs:
                specs[name] = sized(network.inputs[name], sizes)
            elif name in network.params:
                specs[name] = spec_of(network.params[name])
            elif name in made:
                specs[name] = made[name]
        return specs
