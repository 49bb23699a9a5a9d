"""Shapes of the values of a network: named dimensions, and what follows from them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ..errors import Deep500Error
from .graph import Node
from .operator import Tensor

BATCH = "batch"
Sizes = Mapping[str, int]  # of named dimensions
Specs = dict[str, Tensor]

# Sizes that are tried, to tell a shape that never fits from one that fits only some sizes.
FIRST_SIZE, OTHER_SIZE = 2, 64
OTHER_SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 224, 256)


class Mismatch(ValueError):
    """Inputs that an operator cannot take."""


def spec_of(array: Any) -> Tensor:
    """Shape and dtype of an array (or of what stands for one)."""
    return Tensor(tuple(array.shape), str(array.dtype))


def checked_shape(name: str, shape: Iterable[int | str]) -> tuple[int | str, ...]:
    """The shape of an input; a first dimension of 0 is the batch."""
    dimensions = tuple(shape)
    if dimensions[:1] == (0,):
        dimensions = (BATCH, *dimensions[1:])
    for size in dimensions:
        if isinstance(size, str) and size:
            continue
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            raise Deep500Error(
                f"the input {name!r} has the dimension {size!r}: give a size, or a name such as 'batch'"
            )
    return dimensions


def dimension_names(tensors: Iterable[Tensor]) -> list[str]:
    """The named dimensions, each once."""
    names = [
        size for tensor in tensors for size in tensor.shape if isinstance(size, str)
    ]
    return [*dict.fromkeys(names)]


def sized(tensor: Tensor, sizes: Sizes) -> Tensor:
    """The tensor with sizes in the place of names; a name that is not given counts as 1."""
    shape = [
        sizes.get(size, 1) if isinstance(size, str) else size for size in tensor.shape
    ]
    return Tensor(tuple(shape), tensor.dtype)


def trial_sizes(tensors: Iterable[Tensor]) -> dict[str, int]:
    """A size for every named dimension: small for the batch, larger for heights and lengths."""
    tensors = [*tensors]
    sizes = dict.fromkeys(dimension_names(tensors), OTHER_SIZE)
    for tensor in tensors:
        for size in tensor.shape[:1]:
            if isinstance(size, str):
                sizes[size] = FIRST_SIZE
    return sizes


def node_specs(node: Node, specs: Mapping[str, Tensor]) -> tuple[Tensor, ...] | None:
    """What a node makes of inputs of these shapes; None if that needs values. `Mismatch` if it cannot take them."""
    inputs = []
    for name in node.inputs:
        if isinstance(name, str) and name not in specs:
            return None
        inputs.append(specs[name] if isinstance(name, str) else name)
    if node.operator.random:
        inputs = inputs[: len(node.operator.inputs)]  # the key comes behind them
    if node.operator.data_dependent or node.deciding:
        return None
    try:
        return node.operator.infer(*inputs)
    except ValueError as error:
        raise Mismatch(str(error)) from None
    except Exception:  # it needs a value that only a run brings
        return None


def infer(nodes: Iterable[Node], sources: Mapping[str, Tensor]) -> Specs:
    """Shape and dtype of the sources and of what the nodes, in order, make of them, as far as these tell."""
    specs = dict(sources)
    for node in nodes:
        try:
            outputs = node_specs(node, specs)
        except Mismatch:  # whoever runs the node will say so
            continue
        if outputs is not None:
            specs.update(zip(node.outputs, outputs, strict=False))
    return specs


def named(tensors: Mapping[str, Tensor], inferred: Callable[[Specs], Specs]) -> Specs:
    """Shapes with the names of the inputs' dimensions; one that depends on them otherwise is called "value.axis".

    `inferred` tells the shapes of all values for inputs of these sizes.
    """
    first, second = _two_choices(tensors.values())
    one, other = (
        inferred({name: sized(tensor, sizes) for name, tensor in tensors.items()})
        for sizes in (first, second)
    )
    pairs = {(first[name], second[name]): name for name in first}
    specs = {}
    for value in one.keys() & other.keys():
        shape = _named_shape(value, one[value].shape, other[value].shape, pairs)
        specs[value] = Tensor(shape, one[value].dtype)
    return specs


def _named_shape(
    value: str,
    one: tuple[int, ...],
    other: tuple[int, ...],
    pairs: Mapping[tuple[int, int], str],
) -> tuple[int | str, ...]:
    shape: list[int | str] = []
    for axis, sizes in enumerate(zip(one, other, strict=False)):
        fixed = sizes[0] == sizes[1]
        shape.append(sizes[0] if fixed else pairs.get(sizes, f"{value}.{axis}"))
    return tuple(shape)


def _two_choices(tensors: Iterable[Tensor]) -> tuple[dict[str, int], dict[str, int]]:
    """Two sizes for every named dimension; every name has its own ratio between them."""
    first = trial_sizes(tensors)
    second = {name: size * (i + 2) for i, (name, size) in enumerate(first.items())}
    return first, second


def uniform_sizes(names: Iterable[str]) -> Iterator[dict[str, int]]:
    """All named dimensions of one size, for several sizes."""
    names = [*names]
    for size in OTHER_SIZES:
        yield dict.fromkeys(names, size)


def bind(
    tensors: Mapping[str, Tensor], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, int]:
    """The sizes of the named dimensions of these inputs; refuses shapes that are missing or wrong."""
    sizes: dict[str, int] = {}
    brought_by: dict[str, str] = {}
    for name, tensor in tensors.items():
        if name not in shapes:
            raise Deep500Error(
                f"the input {name!r} is missing; these came: {', '.join(shapes) or 'none'}"
            )
        shape = tuple(shapes[name])
        if not _fits(tensor.shape, shape):
            wanted = ", ".join(map(str, tensor.shape))
            raise Deep500Error(
                f"the input {name!r} has the shape {shape}, and ({wanted}) is wanted"
            )
        for dimension, size in zip(tensor.shape, shape, strict=True):
            if not isinstance(dimension, str):
                continue
            if sizes.setdefault(dimension, size) != size:
                raise Deep500Error(
                    f"the inputs bring different sizes of {dimension!r}: {brought_by[dimension]} "
                    f"{sizes[dimension]}, {name} {size}"
                )
            brought_by.setdefault(dimension, name)
    return sizes


def _fits(wanted: tuple[int | str, ...], shape: tuple[int, ...]) -> bool:
    if len(wanted) != len(shape):
        return False
    pairs = zip(wanted, shape, strict=True)
    return all(isinstance(size, str) or size == given for size, given in pairs)
