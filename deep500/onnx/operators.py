"""Operators for control flow that is decided at run time; what is known before is unrolled while a file is read."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..contracts.operator import TensorSpec
from ..errors import Deep500Error, Unsupported
from ..graph import tape
from ..graph.expansion import Expandable, NodeWriter, stands
from ..graph.graph import Node, Subgraph
from ..namespace import kind
from .rows import slices, stacked

MOST_ROUNDS = 20_000  # of a loop whose end is decided at run time
# a row whose shape or dtype the file does not declare
UNKNOWN = TensorSpec((), "")


class If(Expandable):
    """One of two branches; both take all of xs.

    It is replaced by the branch that the condition selects if the results of the two differ in shape, or if their
    shapes depend on values.
    """

    domain = "deep500"  # ONNX's own has no inputs but the condition: its branches see the values around them
    then_branch: Subgraph
    else_branch: Subgraph
    outputs = ("*ys",)

    def forward(self, xp, condition, *xs):
        shapes: list = []  # of both branches, where both are run to be recorded

        def branch(graph):
            def run(*xs):
                ys = tape.run(xp, graph, xs)
                shapes.append([tuple(y.shape) for y in ys])
                return ys

            return run

        choice = xp.reshape(condition, ())
        then_branch = branch(self.then_branch)
        else_branch = branch(self.else_branch)
        try:
            ys = xp.cond(choice, then_branch, else_branch, *xs)
        except (TypeError, ValueError) as error:
            # by which frameworks refuse branches that differ
            _refuse_unlike_branches(shapes, error)
            raise
        _refuse_unlike_branches(shapes)
        return ys

    def backward(self, xp, condition, xs, ys, dys):
        float_inputs = _float_positions(xs)
        float_outputs = _float_positions(ys)
        if not float_inputs:
            return None
        input_count = len(xs)
        output_count = len(ys)

        def pull(graph):
            def run(*values):
                inputs = values[:input_count]
                dys = values[input_count:]
                output_grads = _at_positions(float_outputs, dys, output_count)
                return tape.pull(xp, graph, inputs, output_grads, float_inputs)

            return run

        choice = xp.reshape(condition, ())
        float_dys = [dys[i] for i in float_outputs]
        then_pull = pull(self.then_branch)
        else_pull = pull(self.else_branch)
        grads = xp.cond(choice, then_pull, else_pull, *xs, *float_dys)
        input_grads = _at_positions(float_inputs, grads, input_count)
        return None, *input_grads

    def infer(self, condition, *xs):
        then_ys = self.then_branch.infer(xs)
        else_ys = self.else_branch.infer(xs)
        if then_ys != else_ys:
            raise TypeError(f"the branches of an If make {then_ys} and {else_ys}")
        return then_ys

    def stands(self, derivative: bool) -> bool:
        if not stands(self.then_branch, derivative):
            return False
        return stands(self.else_branch, derivative)

    def keeps_shapes(self, *inputs: TensorSpec) -> bool:
        return _infers(self, inputs)

    def expand(self, writer: NodeWriter, node: Node) -> list[str] | None:
        condition, *xs = node.inputs
        value = _single(writer, node, condition, "bool")
        if value is None:
            return None
        if value.item():
            return writer.copy(self.then_branch, xs, f"{node.name}.then")
        return writer.copy(self.else_branch, xs, f"{node.name}.else")


def _refuse_unlike_branches(
    shapes: Sequence[list[tuple]], cause: Exception | None = None
) -> None:
    """Raise Unsupported if both branches of an If were recorded and make different shapes."""
    if shapes[1:] and shapes[0] != shapes[1]:
        raise Unsupported(
            f"the branches of an If make the shapes {shapes[0]} and {shapes[1]}, which only a "
            "framework that runs one step after the other can do"
        ) from cause


class Loop(Expandable):
    """Runs the body on the first `carried` of xs while its condition holds; returns these, then the collected rows.

    The body takes the number of the round, the condition, the carried values and the rest of xs; it returns the next
    condition, the carried values, and a row for each of `rows`. `most` limits the rounds. The loop is unrolled where
    rows are collected, gradients are needed, or shapes change from round to round.
    """

    domain = "deep500"
    body: Subgraph
    carried: int
    rows: tuple[TensorSpec, ...] = ()  # shape and dtype of a row, or UNKNOWN
    outputs = ("*ys",)

    def forward(self, xp, most=None, go=None, *xs):
        state = xs[: self.carried]
        captured = xs[self.carried :]
        start = xp.asarray(0, "int64")
        if go is None:
            go = xp.asarray(True, "bool")
        else:
            go = xp.reshape(go, ())
        bound = xp.asarray(MOST_ROUNDS + 1, "int64")
        limit = bound
        if most is not None:
            rounds = xp.reshape(most, ())
            limit = xp.where(rounds < bound, rounds, bound)

        def goes_on(t, go, *_):
            return xp.logical_and(t < limit, go)

        def run_round(t, go, *state):
            inputs = (t, go, *state, *captured)
            go, *after = tape.run(xp, self.body, inputs)
            return t + 1, xp.reshape(go, ()), *after

        initial = (start, go, *state)
        rounds, _, *results = xp.while_loop(goes_on, run_round, initial)
        message = f"a Loop runs more than {MOST_ROUNDS} rounds, which is taken for one without an end"
        checked = []
        for result in results:
            checked.append(xp.require(rounds <= MOST_ROUNDS, message, result))
        return tuple(checked)

    def infer(self, most=None, go=None, *xs):
        count = TensorSpec((), "int64")
        condition = TensorSpec((), "bool")
        _, *after = self.body.infer((count, condition, *xs))
        carried = xs[: self.carried]
        if self.rows or tuple(after) != carried:
            raise TypeError("how often a Loop runs decides on its shapes")
        return tuple(after)

    def stands(self, derivative: bool) -> bool:
        if derivative or self.rows:
            return False
        return stands(self.body, derivative)

    def keeps_shapes(self, *inputs: TensorSpec) -> bool:
        return _infers(self, inputs)

    def expand(self, writer: NodeWriter, node: Node) -> list[str] | None:
        limits = _limits(writer, node)
        if limits is None:
            return None
        most, go = limits
        first_captured = 2 + self.carried
        state: list[Any] = [*node.inputs[2:first_captured]]
        captured = node.inputs[first_captured:]
        rows: list[list[str]] = []
        while go and len(rows) < most:
            count = len(rows)
            prefix = f"{node.name}.{count}"
            t = _constant(writer, f"{prefix}.t", np.int64(count))
            true = _constant(writer, f"{prefix}.go", np.bool_(True))
            arguments = [t, true, *state, *captured]
            condition, *results = writer.copy(self.body, arguments, prefix)
            state = results[: self.carried]
            rows.append(results[self.carried :])
            value = _single(writer, node, condition, "bool")
            if value is None:
                return None
            go = value.item()
        columns = _columns(writer, node, rows, self.rows)
        return [*state, *columns]


class Scan(Expandable):
    """Runs the body once for every slice of the scanned inputs; it is always unrolled.

    The first `carried` of xs are carried from slice to slice, the next ones are scanned, one for every entry of
    `axes`, and the body sees the rest as they are. It returns the carried values, and a row for each of `rows`.
    """

    domain = "deep500"
    body: Subgraph
    carried: int
    axes: tuple[int, ...]
    backwards: tuple[int, ...]  # which inputs are scanned from their end
    rows: tuple[TensorSpec, ...]
    row_axes: tuple[int, ...]
    rows_backwards: tuple[int, ...]
    outputs = ("*ys",)

    def forward(self, xp, *xs):
        raise Unsupported("a Scan runs only as the nodes that it is written out as")

    def infer(self, *xs):
        raise TypeError("the length of what a Scan scans decides on its shapes")

    def stands(self, derivative: bool) -> bool:
        return False

    def keeps_shapes(self, *inputs: TensorSpec) -> bool:
        return False

    def expand(self, writer: NodeWriter, node: Node) -> list[str] | None:
        first_captured = self.carried + len(self.axes)
        scanned: list[Any] = [*node.inputs[self.carried : first_captured]]
        captured = node.inputs[first_captured:]
        columns: list[list[str]] = []
        for name, axis, back in zip(scanned, self.axes, self.backwards, strict=True):
            length = _length(writer, node, name, axis)
            if length is None:
                return None
            stem = f"{node.name}.{name}"
            column = slices(writer.emit, name, length, axis, bool(back), stem)
            columns.append(column)
        lengths = {len(column) for column in columns}
        if len(lengths) != 1:
            raise Deep500Error(f"node {node.name!r} scans inputs of different lengths")
        state: list[Any] = [*node.inputs[: self.carried]]
        rows = []
        for t, parts in enumerate(zip(*columns, strict=True)):
            arguments = [*state, *parts, *captured]
            prefix = f"{node.name}.{t}"
            results = writer.copy(self.body, arguments, prefix)
            state = results[: self.carried]
            rows.append(results[self.carried :])
        stacks = _columns(
            writer, node, rows, self.rows, self.row_axes, self.rows_backwards
        )
        return [*state, *stacks]


def _float_positions(values: Sequence[Any]) -> list[int]:
    """The positions of the values that are floats."""
    return [i for i, value in enumerate(values) if kind(value) == "float"]


def _at_positions(
    positions: Sequence[int], values: Sequence[Any], count: int
) -> list[Any]:
    """A list of `count` entries with these values at these positions, and None elsewhere."""
    entries: list[Any] = [None] * count
    for position, value in zip(positions, values, strict=True):
        entries[position] = value
    return entries


def _infers(operator: Any, inputs: Sequence[TensorSpec]) -> bool:
    try:
        operator.infer(*inputs)
    except Exception:
        return False
    return True


def _limits(writer: NodeWriter, node: Node) -> tuple[float, bool] | None:
    """The largest number of rounds and the first condition; None if one of them is known only at run time."""
    most, go = node.inputs[:2]
    count: np.ndarray | None = np.asarray(math.inf)
    condition: np.ndarray | None = np.asarray(True)
    if most is not None:
        count = _single(writer, node, most, "int64")
    if go is not None:
        condition = _single(writer, node, go, "bool")
    if count is None or condition is None:
        return None
    return count.item(), condition.item()


def _single(writer: NodeWriter, node: Node, name: Any, dtype: str) -> np.ndarray | None:
    """The value of a condition or a count; None if it is known only at run time."""
    value = writer.value(name)
    if value is None:
        return None
    if value.size != 1 or value.dtype.name != dtype:
        raise Deep500Error(
            f"node {node.name!r} takes {name!r}, which is {value.dtype}{list(value.shape)}, where one "
            f"{dtype} will do"
        )
    return value


def _length(writer: NodeWriter, node: Node, name: Any, axis: int) -> int | None:
    tensor = writer.tensor(name)
    if tensor is None:
        return None
    rank = len(tensor.shape)
    if not -rank <= axis < rank:
        raise Deep500Error(
            f"node {node.name!r} scans {name!r} along axis {axis}, and its shape is {list(tensor.shape)}"
        )
    return tensor.shape[axis]


def _constant(writer: NodeWriter, stem: str, value: np.generic) -> str:
    (name,) = writer.emit("ConstantOfShape", [()], stem, value=value)
    return name


def _columns(
    writer: NodeWriter,
    node: Node,
    rows: Sequence[Sequence[str]],
    specs: Sequence[TensorSpec],
    axes: Sequence[int] | None = None,
    backwards: Sequence[int] | None = None,
) -> list[str]:
    """The rows of every round, output by output, stacked to one value each."""
    columns = []
    for i, spec in enumerate(specs):
        stem = f"{node.name}.rows.{i}"
        axis = axes[i] if axes else 0
        column = [row[i] for row in rows]
        if backwards and backwards[i]:
            column.reverse()
        if column:
            stack = stacked(writer.emit, column, axis, stem)
        else:
            stack = _no_rows(writer, node, spec, axis, stem)
        columns.append(stack)
    return columns


def _no_rows(
    writer: NodeWriter, node: Node, row: TensorSpec, axis: int, stem: str
) -> str:
    if row == UNKNOWN:
        raise Unsupported(
            f"node {node.name!r} does not run once, and the file does not say of what shape its rows are"
        )
    one_row = np.expand_dims(np.empty(row.shape), axis)
    no_rows = one_row.take([], axis)
    zero = np.zeros((), row.dtype)[()]
    (name,) = writer.emit("ConstantOfShape", [no_rows.shape], stem, value=zero)
    return name
