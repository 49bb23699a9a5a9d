"""Fuses the product of two matrices and the addition of a bias into one call of torch.nn.functional.linear."""

from collections.abc import Iterator
from typing import Any, cast

import torch
from torch.fx import Graph, Node
from torch.nn.functional import linear


def fuse_linear(graph: Graph) -> None:
    """Replace x @ w + b by linear(x, w.T, b) wherever w is a matrix and b has one element per column.

    Shape and dtype of a node are in its `meta["spec"]`; nodes without it are left as they are.
    """
    for node in list(graph.nodes):
        if node.target is torch.add:
            _fuse(graph, node)


def _fuse(graph: Graph, total: Node) -> None:
    for product, bias in _in_any_order(total):
        if not _is_linear(product, bias):
            continue
        x, columns = product.args
        with graph.inserting_before(total):
            weight = _transposed(graph, columns)
            call = _linear(graph, x, weight, bias)
        total.replace_all_uses_with(call)
        graph.erase_node(total)
        graph.erase_node(product)
        return


def _linear(graph: Graph, x: Node, weight: Node, bias: Node) -> Node:
    """Emit linear(x, weight, bias).

    If x is a permutation of the rows of another tensor, that tensor is multiplied and the result permuted, since
    PyTorch would multiply rows that are not in the order of memory one by one.
    """
    if x.target is not torch.permute or len(x.users) > 1:
        return graph.call_function(linear, (x, weight, bias))
    source, order = cast(tuple[Node, tuple[int, ...]], x.args)
    if order[-1] != len(order) - 1:
        return graph.call_function(linear, (x, weight, bias))
    rows = graph.call_function(linear, (source, weight, bias))
    return graph.call_function(torch.permute, (rows, order))


def _in_any_order(total: Node) -> Iterator[tuple[Any, Any]]:
    if len(total.args) == 2 and not total.kwargs:
        first, second = total.args
        yield first, second
        yield second, first


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
    x, columns, row = specs
    x_shape, dtype = x
    columns_shape, columns_dtype = columns
    row_shape, row_dtype = row
    if not dtype == columns_dtype == row_dtype:
        return False
    if len(x_shape) < 2 or len(columns_shape) != 2:
        return False
    return row_shape == columns_shape[1:]


def _transposed(graph: Graph, columns: Any) -> Any:
    """The transposed matrix: the original of one that is a transpose itself, or a view."""
    if columns.target is torch.permute:
        matrix, order = columns.args
        if tuple(order) == (1, 0):
            return matrix
    return graph.call_method("t", (columns,))
