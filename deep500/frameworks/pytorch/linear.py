"""A product of matrices with a bias added is one call of PyTorch, as in nn.Linear."""

from collections.abc import Iterator
from typing import Any, cast

import torch
from torch.fx import Graph, Node
from torch.nn.functional import linear


def fuse_linear(graph: Graph) -> None:
    """Write x @ w + b as linear(x, w.T, b) wherever w is a matrix and b a row of its columns.

    Nodes know their shape and dtype as `meta["spec"]`; those that do not are left alone.
    """
    for node in list(graph.nodes):
        if node.target is torch.add:
            _fuse(graph, node)


def _fuse(graph: Graph, total: Node) -> None:
    for product, bias in _in_any_order(total):
        if _is_linear(product, bias):
            x, columns = product.args
            with graph.inserting_before(total):
                call = _linear(graph, x, _transposed(graph, columns), bias)
            total.replace_all_uses_with(call)
            graph.erase_node(total)
            graph.erase_node(product)
            return


def _linear(graph: Graph, x: Node, weight: Node, bias: Node) -> Node:
    """If x has its rows in another order than memory, they are put in that order afterwards: PyTorch would multiply
    row by row otherwise."""
    if x.target is not torch.permute or len(x.users) > 1:
        return graph.call_function(linear, (x, weight, bias))
    source, order = cast(tuple[Node, tuple[int, ...]], x.args)
    if order[-1] != len(order) - 1:
        return graph.call_function(linear, (x, weight, bias))
    rows = graph.call_function(linear, (source, weight, bias))
    return graph.call_function(torch.permute, (rows, order))


def _in_any_order(total: Node) -> Iterator[tuple[Any, Any]]:
    if len(total.args) == 2 and not total.kwargs:
        left, right = total.args
        yield left, right
        yield right, left


def _is_linear(product: Any, bias: Any) -> bool:
    if not isinstance(product, Node) or product.target is not torch.matmul:
        return False
    if len(product.users) > 1 or "spec" not in product.meta:
        return False
    specs: list[Any] = []
    for value in (*product.args, bias):
        if isinstance(value, Node) and "spec" in value.meta:
            specs.append(value.meta["spec"])
    if len(specs) < 3:
        return False
    (x, dtype), (columns, columns_dtype), (row, row_dtype) = specs
    has_shapes = len(x) > 1 and len(columns) == 2 and row == columns[1:]
    return has_shapes and dtype == columns_dtype == row_dtype


def _transposed(graph: Graph, columns: Any) -> Any:
    """The matrix with its rows as columns: that which was transposed before, or a view."""
    if columns.target is torch.permute and tuple(columns.args[1]) == (1, 0):
        return columns.args[0]
    return graph.call_method("t", (columns,))
