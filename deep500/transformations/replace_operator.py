"""One operator in the place of another."""

from collections.abc import Callable

from ..contracts.network import Network, Node
from ..contracts.operator import Adapted, Operator, Tensor
from ..contracts.transformation import Transformation
from ..errors import Deep500Error


class ReplaceOperator(Transformation):
    """Puts `new` in the place of every operator named `old`: `ReplaceOperator("Relu", my_operator)`.

    `new` is an operator (a custom one, too), or a function that makes one from the old one and its attributes. It takes
    the same inputs and makes the same shapes. Bodies of loops and branches are not looked into.
    """

    old: str
    new: Operator | Adapted | Callable[[Operator], Operator | Adapted]

    def apply(self, network: Network) -> None:
        nodes = [
            node for node in network.nodes if type(node.operator).__name__ == self.old
        ]
        if not nodes:
            kinds = sorted({type(node.operator).__name__ for node in network.nodes})
            raise Deep500Error(
                f"no node has the operator {self.old!r}; there are: {', '.join(kinds)}"
            )
        before = network.specs()
        for node in nodes:
            replacement = self._replacement(node.operator)
            _check_inputs(node, replacement)
            network.replace_node(node.name, replacement)
        after = network.specs()
        for value in [value for node in nodes for value in node.outputs]:
            is_known = value in before and value in after
            if is_known and before[value] != after[value]:
                raise Deep500Error(
                    f"{value!r} would be {_text(after[value])} with the new operator, and is "
                    f"{_text(before[value])} with {self.old}"
                )

    def _replacement(self, old: Operator) -> Operator:
        new = self.new
        if not isinstance(new, Operator | Adapted):
            new = new(old)
        return new.operator if isinstance(new, Adapted) else new


def _text(spec: Tensor) -> str:
    shape = ", ".join(map(str, spec.shape))
    return f"{spec.dtype} ({shape})"


def _check_inputs(node: Node, replacement: Operator) -> None:
    replacement.input_names(len(node.inputs))
    results = len(replacement.outputs)
    if len(node.outputs) > results and not replacement.variadic:
        raise Deep500Error(
            f"node {node.name!r} makes {len(node.outputs)} values, and "
            f"{type(replacement).__name__} makes {results}"
        )
