"""Formulas of losses as nodes: an array namespace that appends to a network instead of computing.

It has the functions of `namespace.Namespace` that losses use, so that the same formula gives numbers with NumPy and
nodes with this namespace. A Python number in a formula becomes a constant of the other operand's dtype.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..contracts.dtypes import NUMBERS
from ..contracts.network import Network
from ..namespace import ints

Axis = int | Sequence[int] | None


class NodeValue:
    """A value of the network that supports Python's operators; `shape` may hold names of dimensions."""

    def __init__(
        self,
        network: Network,
        name: str,
        dtype: str,
        shape: tuple[Any, ...] = (),
    ):
        self.network = network
        self.name = name
        self.dtype = dtype
        self.shape = shape  # known of the prediction and of the target alone

    def node(
        self,
        operator: str,
        *others: Any,
        dtype: str | None = None,
        **attributes: Any,
    ) -> "NodeValue":
        """The first output of a new node that takes this value and others."""
        inputs = [self.name]
        for other in others:
            inputs.append(self.constant(other).name)
        name = self.network.add_node(operator, inputs, **attributes)
        return NodeValue(self.network, name, dtype or self.dtype)

    def constant(self, value: Any) -> "NodeValue":
        """A NodeValue unchanged; a number as a constant of this value's dtype."""
        if isinstance(value, NodeValue):
            return value
        scalar = np.asarray(value, self.dtype)[()]
        name = self.network.add_node("ConstantOfShape", [()], value=scalar)
        return NodeValue(self.network, name, self.dtype)

    def __add__(self, other: Any) -> "NodeValue":
        return self.node("Add", other)

    def __sub__(self, other: Any) -> "NodeValue":
        return self.node("Sub", other)

    def __mul__(self, other: Any) -> "NodeValue":
        return self.node("Mul", other)

    def __truediv__(self, other: Any) -> "NodeValue":
        return self.node("Div", other)

    def __matmul__(self, other: "NodeValue") -> "NodeValue":
        return self.node("MatMul", other)

    def __neg__(self) -> "NodeValue":
        return self.node("Neg")

    def __radd__(self, other: Any) -> "NodeValue":
        return self.constant(other) + self

    def __rsub__(self, other: Any) -> "NodeValue":
        return self.constant(other) - self

    def __rmul__(self, other: Any) -> "NodeValue":
        return self.constant(other) * self

    def __rtruediv__(self, other: Any) -> "NodeValue":
        return self.constant(other) / self

    def __eq__(self, other: object) -> "NodeValue":  # type: ignore[override]
        return self.node("Equal", other, dtype="bool")

    def __gt__(self, other: Any) -> "NodeValue":
        return self.node("Greater", other, dtype="bool")

    def __lt__(self, other: Any) -> "NodeValue":
        return self.node("Less", other, dtype="bool")

    __hash__ = None  # type: ignore[assignment]


class NodeNamespace:
    """`xp` for the formula of a loss."""

    def abs(self, x: NodeValue) -> NodeValue:
        return x.node("Abs")

    def exp(self, x: NodeValue) -> NodeValue:
        return x.node("Exp")

    def log(self, x: NodeValue) -> NodeValue:
        return x.node("Log")

    def sqrt(self, x: NodeValue) -> NodeValue:
        return x.node("Sqrt")

    def tanh(self, x: NodeValue) -> NodeValue:
        return x.node("Tanh")

    def maximum(self, x: NodeValue, y: Any) -> NodeValue:
        return x.node("Max", y)

    def minimum(self, x: NodeValue, y: Any) -> NodeValue:
        return x.node("Min", y)

    def logical_not(self, x: NodeValue) -> NodeValue:
        return x.node("Not")

    def where(self, condition: NodeValue, x: Any, y: Any) -> NodeValue:
        like = x if isinstance(x, NodeValue) else y
        chosen = like.constant(x)
        other = like.constant(y)
        return condition.node("Where", chosen, other, dtype=like.dtype)

    def astype(self, x: NodeValue, dtype: str) -> NodeValue:
        if x.dtype == dtype:
            return x
        return x.node("Cast", dtype=dtype, to=NUMBERS[dtype])

    def argmax(self, x: NodeValue, axis: int, keepdims: bool = False) -> NodeValue:
        return x.node("ArgMax", dtype="int64", axis=axis, keepdims=int(keepdims))

    def one_hot(self, indices: NodeValue, n: int, dtype: str) -> NodeValue:
        """A new last axis of length n: 1 at the index, 0 elsewhere."""
        network = indices.network
        classes = network.add_node("Range", [0, n, 1])
        rows = network.add_node("Unsqueeze", [indices.name, (-1,)])
        hot = network.add_node("Equal", [rows, classes])
        return self.astype(NodeValue(network, hot, "bool"), dtype)

    def permute_dims(self, x: NodeValue, axes: Sequence[int]) -> NodeValue:
        return x.node("Transpose", perm=tuple(axes))

    def sum(self, x: NodeValue, axis: Axis = None, keepdims: bool = False) -> NodeValue:
        return self._reduced("ReduceSum", x, axis, keepdims)

    def mean(
        self, x: NodeValue, axis: Axis = None, keepdims: bool = False
    ) -> NodeValue:
        return self._reduced("ReduceMean", x, axis, keepdims)

    def logsumexp(
        self, x: NodeValue, axis: Axis = None, keepdims: bool = False
    ) -> NodeValue:
        return self._reduced("ReduceLogSumExp", x, axis, keepdims)

    def _reduced(
        self, operator: str, x: NodeValue, axis: Axis, keepdims: bool
    ) -> NodeValue:
        inputs: list[Any] = [x.name]
        if axis is not None:
            inputs.append(ints(axis))
        name = x.network.add_node(operator, inputs, keepdims=int(keepdims))
        return NodeValue(x.network, name, x.dtype)
