"""Replaces one operator by another."""

from collections.abc import Callable

from ..contracts.network import Network, Node
from ..contracts.operator import Adapted, Operator, TensorSpec
from ..contracts.transformation import Transformation
from ..errors import Deep500Error


class ReplaceOperator(Transformation):
    """Replaces every operator named `old` by `new`: `ReplaceOperator("Relu", my_operator)`.

    `new` is an operator (a custom one, too), or a function that returns one for the old one and its attributes. It must
    take the same inputs and give the same shapes. Bodies of loops and branches stay as they are.
    """

    old: str
    new: Operator | Adapted | Callable[[Operator], Operator | Adapted]

    def apply(self, network: Network) -> None:
        nodes = self._matching_nodes(network)
        before = network.specs()
        for node in nodes:
            replacement = self._replacement(node.operator)
            _check_inputs(node, replacement)
            network.replace_node(node.name, replacement)
        after = network.specs()
        for node in nodes:
            for value in node.outputs:
                self._check_spec(value, before.get(value), after.get(value))

    def _matching_nodes(self, network: Network) -> list[Node]:
        """The nodes with the old operator; raises `Deep500Error` if there are none."""
        nodes = []
        kinds = set()
        for node in network.nodes:
            kind = type(node.operator).__name__
            kinds.add(kind)
            if kind == self.old:
                nodes.append(node)
        if not nodes:
            names = ", ".join(sorted(kinds))
            raise Deep500Error(
                f"no node has the operator {self.old!r}; there are: {names}"
            )
        return nodes

    def _replacement(self, old: Operator) -> Operator:
        new = self.new
        if not isinstance(new, Operator | Adapted):
            new = new(old)
        if isinstance(new, Adapted):
            return new.operator
        return new

    def _check_spec(
        self, value: str, before: TensorSpec | None, after: TensorSpec | None
    ) -> None:
        if before is None or after is None:
            return
        if before != after:
            raise Deep500Error(
                f"{value!r} would be {_text(after)} with the new operator, and is "
                f"{_text(before)} with {self.old}"
            )


def _text(spec: TensorSpec) -> str:
    shape = ", ".join(map(str, spec.shape))
    return f"{spec.dtype} ({shape})"


def _check_inputs(node: Node, replacement: Operator) -> None:
    replacement.input_names(len(node.inputs))  # raises if it takes fewer
    old_count = len(node.outputs)
    new_count = len(replacement.outputs)
    if old_count > new_count and not replacement.variadic:
        kind = type(replacement).__name__
        raise Deep500Error(
            f"node {node.name!r} makes {old_count} values, and {kind} makes {new_count}"
        )
