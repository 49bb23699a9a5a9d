"""Batches, gradients and states of anyone's training: nested containers of arrays of any framework."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import Deep500Error

Arrays = dict[str, np.ndarray]


def leaves(tree: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every value in nested dicts, lists and tuples, with its path as a name."""
    if isinstance(tree, Mapping):
        items = [(str(key), value) for key, value in tree.items()]
    elif isinstance(tree, list | tuple):
        items = [(str(number), value) for number, value in enumerate(tree)]
    else:
        yield name, tree
        return
    for key, value in items:
        yield from leaves(value, f"{name}.{key}" if name else key)


def arrays(tree: Any) -> Arrays:
    """The numbers in a tree as NumPy arrays by name; texts and other objects are left out."""
    found = {}
    for name, leaf in leaves(tree):
        array = numbers(leaf)
        if array is not None:
            found[name or "value"] = array
    return found


def numbers(leaf: Any) -> np.ndarray | None:
    """A copy of an array or a number; None for anything else. bfloat16 becomes float32."""
    if hasattr(leaf, "detach"):
        leaf = leaf.detach().cpu()
        if str(leaf.dtype) == "torch.bfloat16":
            leaf = leaf.float()
        leaf = leaf.numpy()
    is_number = isinstance(leaf, int | float)
    if not is_number and not hasattr(leaf, "__array__"):
        return None
    array = np.array(np.asarray(leaf))
    if array.dtype.kind == "V" or str(array.dtype) == "bfloat16":
        return array.astype(np.float32)
    return array if array.dtype.kind in "fiub" else None


def changed(tree: Any, change: Callable[[np.ndarray], np.ndarray]) -> Any:
    """The tree with every array of floats replaced by what `change` makes of it, of the same kind and dtype."""
    if isinstance(tree, Mapping):
        return {key: changed(value, change) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return _rebuilt(tree, [changed(value, change) for value in tree])
    if isinstance(tree, float) or not hasattr(tree, "dtype"):
        return tree
    array = numbers(tree)
    if array is None or array.dtype.kind != "f":
        return tree
    return _like(tree, change(array))


def _rebuilt(old: Any, values: list[Any]) -> Any:
    if hasattr(old, "_fields"):  # a named tuple
        return type(old)(*values)
    return type(old)(values)


def _like(tensor: Any, array: np.ndarray) -> Any:
    """The array as a tensor of the same framework and dtype."""
    if hasattr(tensor, "new_tensor"):
        return tensor.new_tensor(array)
    difference = array - np.asarray(tensor)
    return tensor + difference.astype(array.dtype)


class Batch:
    """The examples of a batch: the first axis of its arrays, or the elements of its lists."""

    def __init__(self, tree: Any):
        self.tree = tree
        lengths = {len(leaf) for leaf in _columns(tree)}
        if len(lengths) != 1:
            raise Deep500Error(
                f"batch() gives columns of {sorted(lengths) or 'no'} examples: give a dict or tuple of arrays whose "
                "first axis is the examples, or a list of examples"
            )
        [self.length] = lengths

    def take(self, rows: Sequence[int]) -> Any:
        """The examples of these numbers, in this order."""
        return _taken(self.tree, self.length, list(rows))

    def parts(self, sizes: Sequence[int]) -> list[Any]:
        """The batch in parts of these sizes, one after the other."""
        parts = []
        start = 0
        for size in sizes:
            parts.append(self.take(range(start, start + size)))
            start += size
        return parts


def _columns(tree: Any) -> Iterator[Any]:
    if isinstance(tree, Mapping):
        for value in tree.values():
            yield from _columns(value)
    elif isinstance(tree, tuple):
        for value in tree:
            yield from _columns(value)
    elif isinstance(tree, list) or _has_rows(tree):
        yield tree


def _has_rows(leaf: Any) -> bool:
    shape: Any = getattr(leaf, "shape", None)
    return bool(shape is not None and len(shape))


def _taken(tree: Any, length: int, rows: list[int]) -> Any:
    if isinstance(tree, Mapping):
        return {key: _taken(value, length, rows) for key, value in tree.items()}
    if isinstance(tree, tuple):
        return _rebuilt(tree, [_taken(value, length, rows) for value in tree])
    if isinstance(tree, list):
        return [tree[row] for row in rows]
    if not _has_rows(tree):
        return tree
    if rows == list(range(rows[0], rows[0] + len(rows))):
        return tree[rows[0] : rows[0] + len(rows)]
    try:
        return tree[np.array(rows)]
    except Exception:  # TensorFlow's tensors take slices only
        return np.asarray(tree)[np.array(rows)]
