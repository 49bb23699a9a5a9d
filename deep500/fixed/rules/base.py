"""What a rule is: how the nodes of an operator run by kernels with fixed bits."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...contracts.network import Node
from ...contracts.operator import Operator
from ...contracts.transport import Program
from ..namespace import FixedNamespace
from ..sums import Part, Target

Reduce = Callable[[Sequence[np.ndarray]], Program]
Gradients = Sequence[Any]  # of a node's outputs, None where one is not used


@dataclass(frozen=True)
class Run:
    """One rank's part of a step.

    `part` has all examples of this rank, `size` is the number of examples of all ranks, `uses` how many nodes add to
    the gradient of a parameter at most. `target(subject, total, scale)` is where floats are added as whole numbers,
    and `reduce` adds these over the ranks.
    """

    part: Part
    size: int
    uses: int
    fraction: int
    target: Callable[[str, np.ndarray, float], Target]
    reduce: Reduce
    params: Mapping[str, np.ndarray]
    xp: FixedNamespace = field(default_factory=FixedNamespace)


@dataclass(frozen=True)
class NodePlace:
    """A node with its rule. Inputs are named by their positions.

    `wanted` need gradients of their own, `params` are parameters, `batched` have examples along their first axis.
    """

    node: Node
    rule: "FixedRule"
    wanted: frozenset[int]
    params: Mapping[int, str]
    batched: frozenset[int]

    @property
    def operator(self) -> Any:
        return self.node.operator


@dataclass(frozen=True)
class Ran:
    """A node that ran forward: what it saved, and the gradients of its outputs."""

    run: Run
    place: NodePlace
    saved: Any
    gradients: Gradients


class FixedRule:
    """How an operator runs. Every row of a result must not depend on the other rows of the call.

    `forward` returns the results and what the gradients need. `backward` returns the gradients of inputs by position,
    at least those that are wanted. `collect` adds the gradient of a parameter for some examples.
    """

    # whether forward and backward add numbers over ranks; they are generators then, and run with x = None on a rank
    # without examples
    reduces = False

    def lacks(self, operator: Operator, place: NodePlace) -> str:
        """Why this node cannot run by the rule; "" if it can."""
        return ""

    def forward(self, run: Run, place: NodePlace, inputs: Sequence[Any]) -> Any:
        raise NotImplementedError

    def backward(self, ran: Ran) -> Any:
        raise NotImplementedError

    def collect(self, ran: Ran, position: int, part: Part, target: Target) -> None:
        raise NotImplementedError


def only(place: NodePlace, **allowed: Any) -> str:
    """Why settings of an operator other than these are not supported; "" if they are these."""
    for name, value in allowed.items():
        actual = getattr(place.operator, name)
        if actual != value:
            return f"with {name}={actual!r}"
    return ""
