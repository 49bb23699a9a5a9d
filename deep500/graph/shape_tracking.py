"""Tracks shapes while a network is edited, so that an edit that can never fit fails immediately."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..contracts.operator import TensorSpec
from ..errors import Deep500Error
from .graph import Node
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
    from ..contracts.network import Network


class ShapeTracker:
    """The shapes of the outputs of nodes, for one size of every named dimension; inferred when first needed.

    An operator that cannot take its inputs at that size may still fit another one: several are tried before it is an
    error.
    """

    def __init__(self, network: "Network"):
        self.network = network
        self._specs: Specs | None = None

    def follow(self, changed: Node) -> None:
        """Infer the shapes of a new node, and again those that depend on it.

        Raises a Deep500Error if the node can never take its inputs.
        """
        if self._specs is None:
            sizes = trial_sizes(self.network.inputs.values())
            self._specs = self.network.specs(sizes)
        self._note(changed, self._fitting(changed))
        affected = self._users(changed)
        while affected:
            _, node = affected.popitem()
            try:
                results = node_specs(node, self._inputs(node))
            except Mismatch:
                # an error when it runs, unless this node is edited too
                results = None
            if self._note(node, results):
                affected.update(self._users(node))

    def forget(self, node: Node) -> None:
        """Drop the shapes of a node's outputs."""
        for value in node.outputs:
            if self._specs is not None:
                self._specs.pop(value, None)

    def _users(self, node: Node) -> dict[str, Node]:
        users: dict[str, Node] = {}
        for value in node.outputs:
            for user in self.network.consumers(value):
                users[user.name] = user
        return users

    def _note(self, node: Node, results: Sequence[TensorSpec] | None) -> bool:
        """Store the shapes of a node's outputs (None: not known); returns whether they have changed."""
        specs = self._specs or {}
        before = [specs.pop(name, None) for name in node.outputs]
        if results is not None:
            specs.update(zip(node.outputs, results, strict=False))
        self._specs = specs
        after = [specs.get(name) for name in node.outputs]
        return before != after

    def _fitting(self, node: Node) -> tuple[TensorSpec, ...] | None:
        """The outputs of a node (None: not known); a Deep500Error if it can never take its inputs."""
        try:
            return node_specs(node, self._inputs(node))
        except Mismatch as error:
            if self._fits_another_size(node):
                return None
            inputs = [self._described(name) for name in node.inputs if name is not None]
            listed = ", ".join(inputs)
            operator = type(node.operator).__name__
            raise Deep500Error(
                f"node {node.name!r} ({operator}) cannot take {listed}: {error}"
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
        if not isinstance(value, str):
            return f"{value}"
        spec = self.network.specs().get(value)
        if spec is None:
            return value
        shape = ", ".join(map(str, spec.shape))
        return f"{value} ({shape})"

    def _inputs(self, node: Node) -> Specs:
        """Shapes of the inputs of a node, as far as they are known."""
        network = self.network
        computed = self._specs or {}
        sizes = trial_sizes(network.inputs.values())
        specs = {}
        for name in node.values:
            if name in network.inputs:
                specs[name] = sized(network.inputs[name], sizes)
            elif name in network.params:
                specs[name] = spec_of(network.params[name])
            elif name in computed:
                specs[name] = computed[name]
        return specs
