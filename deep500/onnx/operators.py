"""Control flow that only a run decides; what is known before is written out while a file is read."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..contracts import tape
from ..contracts.expansion import Expandable, Writer, stands
from ..contracts.graph import Node, Subgraph
from ..contracts.operator import Tensor
from ..errors import Deep500Error, Unsupported
from ..namespace import kind
from .rows import slices, stacked

MOST_ROUNDS = 20_000  # of a loop whose end only a run tells
UNKNOWN = Tensor((), "")  # a row of which the file does not say what it is


class If(Expandable):
    """One of two branches; both take all of xs.

    It is written out as the branch that the condition names where the two make results of different shapes, or need
    values to know them.
    """

    domain = "deep500"  # ONNX's own has no inputs but the condition: its branches see the values around them
    then_branch: Subgraph
    else_branch: Subgraph
    outputs = ("*ys",)

    def forward(self, xp, condition, *xs):
        def branch(graph):
            def run(*xs):
                made = tape.run(xp, graph, xs)
                shapes.append([tuple(y.shape) for y in made])
                return made

            return run

        shapes: list = []  # of both branches, where both are run to be recorded
        try:
            return xp.cond(
                xp.reshape(condition, ()),
                branch(self.then_branch),
                branch(self.else_branch),
                *xs,
            )
        finally:
            if shapes[1:] and shapes[0] != shapes[1]:
                raise Unsupported(
                    f"the branches of an If make the shapes {shapes[0]} and {shapes[1]}, which only a "
                    "framework that runs one step after the other can do"
                )

    def backward(self, xp, condition, xs, ys, dys):
        asked, used = (
            [i for i, x in enumerate(values) if kind(x) == "float"]
            for values in (xs, ys)
        )

        def pull(graph):
            def run(*values):
                grads = dict(zip(used, values[len(xs) :], strict=True))
                return tape.pull(
                    xp,
                    graph,
                    values[: len(xs)],
                    [grads.get(i) for i in range(len(ys))],
                    asked,
                )

            return run

        if not asked:
            return None
        found = xp.cond(
            xp.reshape(condition, ()),
            pull(self.then_branch),
            pull(self.else_branch),
            *xs,
            *(dys[i] for i in used),
        )
        grads = dict(zip(asked, found, strict=True))
        return None, *(grads.get(i) for i in range(len(xs)))

    def infer(self, condition, *xs):
        yes, no = self.then_branch.infer(xs), self.else_branch.infer(xs)
        if yes != no:
            raise TypeError(f"the branches of an If make {yes} and {no}")
        return yes

    def stands(self, derivative: bool) -> bool:
        return stands(self.then_branch, derivative) and stands(
            self.else_branch, derivative
        )

    def keeps_shapes(self, *inputs: Tensor) -> bool:
        return _infers(self, inputs)

    def expand(self, writer: Writer, node: Node) -> list[str] | None:
        condition, *xs = node.inputs
        value = _single(writer, node, condition, "bool")
        if value is None:
            return None
        branch = self.then_branch if value.item() else self.else_branch
        return writer.copy(
            branch, xs, f"{node.name}.{'then' if value.item() else 'else'}"
        )


class Loop(Expandable):
    """The first `carried` of xs, replaced by what the body makes of them as long as that says so; then its rows.

    The body takes the count of rounds, whether to go on, what is carried and the rest of xs; it makes whether to go
    on, what is carried, and a row of each of `rows`. `most` limits the rounds. It is written out, round by round,
    where rows are collected, gradients asked for, or shapes change.
    """

    domain = "deep500"
    body: Subgraph
    carried: int
    rows: tuple[Tensor, ...] = ()  # what a row is, or UNKNOWN
    outputs = ("*ys",)

    def forward(self, xp, most=None, go=None, *xs):
        state, around = xs[: self.carried], xs[self.carried :]
        start = xp.asarray(0, "int64")
        go = xp.asarray(True, "bool") if go is None else xp.reshape(go, ())
        bound = xp.asarray(MOST_ROUNDS + 1, "int64")
        limit = bound
        if most is not None:
            rounds = xp.reshape(most, ())
            limit = xp.where(rounds < bound, rounds, bound)

        def going(t, go, *_):
            return xp.logical_and(t < limit, go)

        def round_(t, go, *state):
            go, *after = tape.run(xp, self.body, (t, go, *state, *around))
            return t + 1, xp.reshape(go, ()), *after

        rounds, _, *results = xp.while_loop(going, round_, (start, go, *state))
        message = f"a Loop runs more than {MOST_ROUNDS} rounds, which is taken for one without an end"
        return tuple(
            xp.require(rounds <= MOST_ROUNDS, message, result) for result in results
        )

    def infer(self, most=None, go=None, *xs):
        count, truth = Tensor((), "int64"), Tensor((), "bool")
        _, *after = self.body.infer((count, truth, *xs))
        if self.rows or tuple(after) != xs[: self.carried]:
            raise TypeError("how often a Loop runs decides on its shapes")
        return tuple(after)

    def stands(self, derivative: bool) -> bool:
        return not derivative and not self.rows and stands(self.body, derivative)

    def keeps_shapes(self, *inputs: Tensor) -> bool:
        return _infers(self, inputs)

    def expand(self, writer: Writer, node: Node) -> list[str] | None:
        limits = _limits(writer, node)
        if limits is None:
            return None
        most, go = limits
        state: list[Any] = [*node.inputs[2 : 2 + self.carried]]
        around = node.inputs[2 + self.carried :]
        rows: list[list[str]] = []
        while go and len(rows) < most:
            prefix = f"{node.name}.{len(rows)}"
            t = _constant(writer, f"{prefix}.t", np.int64(len(rows)))
            stay = _constant(writer, f"{prefix}.go", np.bool_(True))
            after, *made = writer.copy(self.body, [t, stay, *state, *around], prefix)
            state = made[: self.carried]
            rows.append(made[self.carried :])
            value = _single(writer, node, after, "bool")
            if value is None:
                return None
            go = value.item()
        return [*state, *_columns(writer, node, rows, self.rows)]


class Scan(Expandable):
    """The body once for every slice of what is scanned; it is always written out.

    The first `carried` of xs are carried from slice to slice, one more for every entry of `axes` is scanned, and the
    body sees the rest as they are. It makes what is carried, and a row of each of `rows`.
    """

    domain = "deep500"
    body: Subgraph
    carried: int
    axes: tuple[int, ...]
    backwards: tuple[int, ...]  # which inputs are scanned from their end
    rows: tuple[Tensor, ...]
    row_axes: tuple[int, ...]
    rows_backwards: tuple[int, ...]
    outputs = ("*ys",)

    def forward(self, xp, *xs):
        raise Unsupported("a Scan runs only as the nodes that it is written out as")

    def infer(self, *xs):
        raise TypeError("the length of what a Scan scans decides on its shapes")

    def stands(self, derivative: bool) -> bool:
        return False

    def keeps_shapes(self, *inputs: Tensor) -> bool:
        return False

    def expand(self, writer: Writer, node: Node) -> list[str] | None:
        scanned: list[Any] = [
            *node.inputs[self.carried : self.carried + len(self.axes)]
        ]
        around = node.inputs[self.carried + len(self.axes) :]
        columns: list[list[str]] = []
        for name, axis, back in zip(scanned, self.axes, self.backwards, strict=True):
            length = _length(writer, node, name, axis)
            if length is None:
                return None
            columns.append(
                slices(
                    writer.emit, name, length, axis, bool(back), f"{node.name}.{name}"
                )
            )
        if len({len(column) for column in columns}) != 1:
            raise Deep500Error(f"node {node.name!r} scans inputs of different lengths")
        state: list[Any] = [*node.inputs[: self.carried]]
        rows = []
        for t, parts in enumerate(zip(*columns, strict=True)):
            made = writer.copy(self.body, [*state, *parts, *around], f"{node.name}.{t}")
            state = made[: self.carried]
            rows.append(made[self.carried :])
        return [
            *state,
            *_columns(
                writer, node, rows, self.rows, self.row_axes, self.rows_backwards
            ),
        ]


def _infers(operator: Any, inputs: Sequence[Tensor]) -> bool:
    try:
        operator.infer(*inputs)
    except Exception:
        return False
    return True


def _limits(writer: Writer, node: Node) -> tuple[float, bool] | None:
    """How often a loop may run, and whether it does at all."""
    most, go = node.inputs[:2]
    count = (
        np.asarray(math.inf) if most is None else _single(writer, node, most, "int64")
    )
    start = np.asarray(True) if go is None else _single(writer, node, go, "bool")
    if count is None or start is None:
        return None
    return count.item(), start.item()


def _single(writer: Writer, node: Node, name: Any, dtype: str) -> np.ndarray | None:
    """A condition or a count."""
    value = writer.value(name)
    if value is not None and (value.size != 1 or value.dtype.name != dtype):
        raise Deep500Error(
            f"node {node.name!r} takes {name!r}, which is {value.dtype}{list(value.shape)}, where one "
            f"{dtype} will do"
        )
    return value


def _length(writer: Writer, node: Node, name: Any, axis: int) -> int | None:
    tensor = writer.tensor(name)
    if tensor is None:
        return None
    if not -len(tensor.shape) <= axis < len(tensor.shape):
        raise Deep500Error(
            f"node {node.name!r} scans {name!r} along axis {axis}, and its shape is {list(tensor.shape)}"
        )
    return tensor.shape[axis]


def _constant(writer: Writer, stem: str, value: np.generic) -> str:
    return writer.emit("ConstantOfShape", [()], stem, value=value)[0]


def _columns(
    writer: Writer,
    node: Node,
    rows: Sequence[Sequence[str]],
    kinds: Sequence[Tensor],
    axes: Sequence[int] | None = None,
    backwards: Sequence[int] | None = None,
) -> list[str]:
    """The rows of every round, output by output, as one value each."""
    columns = []
    for i, row_kind in enumerate(kinds):
        stem = f"{node.name}.rows.{i}"
        axis = axes[i] if axes else 0
        column = [row[i] for row in rows]
        if backwards and backwards[i]:
            column.reverse()
        if column:
            columns.append(stacked(writer.emit, column, axis, stem))
        else:
            columns.append(_no_rows(writer, node, row_kind, axis, stem))
    return columns


def _no_rows(writer: Writer, node: Node, row: Tensor, axis: int, stem: str) -> str:
    if row == UNKNOWN:
        raise Unsupported(
            f"node {node.name!r} does not run once, and the file does not say of what shape its rows are"
        )
    shape = np.expand_dims(np.empty(row.shape), axis).take([], axis).shape
    value = np.zeros((), row.dtype)[()]
    return writer.emit("ConstantOfShape", [shape], stem, value=value)[0]
