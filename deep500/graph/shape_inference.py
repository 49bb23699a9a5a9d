"""Shape inference for the values of a network, whose inputs may have named dimensions."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..contracts.axis_ranges import check_axes
from ..contracts.operator import Operator, TensorSpec
from ..errors import Deep500Error
from .graph import Node

BATCH = "batch"
Sizes = Mapping[str, int]  # of named dimensions
Specs = dict[str, TensorSpec]

# Sizes to try, to tell a shape that never fits from one that fits only some sizes.
FIRST_SIZE = 2
OTHER_SIZE = 64
OTHER_SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 224, 256)


class Mismatch(ValueError):
    """The inputs of a node have shapes or dtypes that its operator does not take."""


class AxisMismatch(Mismatch):
    """A node names an axis that its input does not have."""


def spec_of(array: Any) -> TensorSpec:
    """Shape and dtype of an array, or of anything that has both."""
    return TensorSpec(tuple(array.shape), str(array.dtype))


def checked_shape(name: str, shape: Iterable[int | str]) -> tuple[int | str, ...]:
    """The shape of an input as a tuple; a first dimension of 0 becomes "batch". Raises a Deep500Error if it is none."""
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


def dimension_names(tensors: Iterable[TensorSpec]) -> list[str]:
    """The named dimensions, each once."""
    names: dict[str, None] = {}
    for tensor in tensors:
        for size in tensor.shape:
            if isinstance(size, str):
                names[size] = None
    return [*names]


def sized(tensor: TensorSpec, sizes: Sizes) -> TensorSpec:
    """The tensor with sizes instead of names; a name without a size becomes 1."""
    shape = []
    for size in tensor.shape:
        if isinstance(size, str):
            size = sizes.get(size, 1)
        shape.append(size)
    return TensorSpec(tuple(shape), tensor.dtype)


def trial_sizes(tensors: Iterable[TensorSpec]) -> dict[str, int]:
    """A size for every named dimension: small for the batch, larger for heights and lengths."""
    tensors = [*tensors]
    sizes = dict.fromkeys(dimension_names(tensors), OTHER_SIZE)
    for tensor in tensors:
        for size in tensor.shape[:1]:
            if isinstance(size, str):
                sizes[size] = FIRST_SIZE
    return sizes


def node_specs(
    node: Node, specs: Mapping[str, TensorSpec]
) -> tuple[TensorSpec, ...] | None:
    """The outputs of a node for inputs of these shapes; None if they depend on values. Raises `Mismatch`."""
    inputs = []
    for name in node.inputs:
        if isinstance(name, str) and name not in specs:
            return None
        inputs.append(specs[name] if isinstance(name, str) else name)
    if node.operator.random:
        inputs = inputs[: len(node.operator.inputs)]  # the key comes after them
    depends_on_values = node.operator.data_dependent or node.deciding
    try:
        _check_axes(node.operator, inputs)
        return None if depends_on_values else node.operator.infer(*inputs)
    except AxisMismatch:
        raise
    except ValueError as error:
        raise Mismatch(str(error)) from None
    except Exception:  # it needs a value that is computed at run time
        return None


def _check_axes(operator: Operator, inputs: Sequence[Any]) -> None:
    try:
        check_axes(operator, inputs)
    except ValueError as error:
        raise AxisMismatch(str(error)) from None


def refuse_wrong_axes(nodes: Iterable[Node], sources: Mapping[str, TensorSpec]) -> None:
    """Raise a Deep500Error that names the first of the ordered nodes with an axis that its input does not have.

    Formulas may wrap such an axis around, so that running the node need not raise an error.
    """
    specs = dict(sources)
    for node in nodes:
        try:
            outputs = node_specs(node, specs)
        except AxisMismatch as error:
            raise Deep500Error(f"node {node.name!r}: {error}") from None
        except Mismatch:  # running the node will raise an error
            continue
        if outputs is not None:
            specs.update(zip(node.outputs, outputs, strict=False))


def infer(nodes: Iterable[Node], sources: Mapping[str, TensorSpec]) -> Specs:
    """Shape and dtype of the sources and, where they can be inferred, of the outputs of the ordered nodes."""
    specs = dict(sources)
    for node in nodes:
        try:
            outputs = node_specs(node, specs)
        except Mismatch:  # running the node will raise an error
            continue
        if outputs is not None:
            specs.update(zip(node.outputs, outputs, strict=False))
    return specs


def named(
    tensors: Mapping[str, TensorSpec], inferred: Callable[[Specs], Specs]
) -> Specs:
    """Shapes with the names of the inputs' dimensions; one that depends on them otherwise is called "value.axis".

    `inferred` returns the shapes of all values for inputs of given sizes; it is called with two choices of sizes.
    """
    first_sizes, second_sizes = _two_choices(tensors.values())
    first = inferred(_all_sized(tensors, first_sizes))
    second = inferred(_all_sized(tensors, second_sizes))
    pairs = {(first_sizes[name], second_sizes[name]): name for name in first_sizes}
    specs = {}
    for value in first.keys() & second.keys():
        spec = first[value]
        shape = _named_shape(value, spec.shape, second[value].shape, pairs)
        specs[value] = TensorSpec(shape, spec.dtype)
    return specs


def _all_sized(tensors: Mapping[str, TensorSpec], sizes: Sizes) -> Specs:
    return {name: sized(tensor, sizes) for name, tensor in tensors.items()}


def _named_shape(
    value: str,
    first: tuple[int, ...],
    second: tuple[int, ...],
    pairs: Mapping[tuple[int, int], str],
) -> tuple[int | str, ...]:
    """The shape of a value with names; `pairs` maps the two sizes of a named dimension to its name."""
    shape: list[int | str] = []
    for axis, sizes in enumerate(zip(first, second, strict=False)):
        if sizes[0] == sizes[1]:
            shape.append(sizes[0])
        else:
            shape.append(pairs.get(sizes, f"{value}.{axis}"))
    return tuple(shape)


def _two_choices(
    tensors: Iterable[TensorSpec],
) -> tuple[dict[str, int], dict[str, int]]:
    """Two sizes for every named dimension; the ratio between them is different for each name."""
    first = trial_sizes(tensors)
    second = {}
    for ratio, (name, size) in enumerate(first.items(), 2):
        second[name] = size * ratio
    return first, second


def uniform_sizes(names: Iterable[str]) -> Iterator[dict[str, int]]:
    """Sizes for named dimensions: all of the same size, for several sizes one after the other."""
    names = [*names]
    for size in OTHER_SIZES:
        yield dict.fromkeys(names, size)


def bind(
    tensors: Mapping[str, TensorSpec], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, int]:
    """The sizes of the named dimensions of these inputs; a Deep500Error if a shape is missing or does not fit."""
    sizes: dict[str, int] = {}
    first_inputs: dict[str, str] = {}  # that have a dimension of this name
    for name, tensor in tensors.items():
        if name not in shapes:
            passed = ", ".join(shapes) or "none"
            raise Deep500Error(f"the input {name!r} is missing; these came: {passed}")
        shape = tuple(shapes[name])
        if not _fits(tensor.shape, shape):
            expected = ", ".join(map(str, tensor.shape))
            raise Deep500Error(
                f"the input {name!r} has the shape {shape}, and ({expected}) is wanted"
            )
        for dimension, size in zip(tensor.shape, shape, strict=True):
            if not isinstance(dimension, str):
                continue
            first_size = sizes.setdefault(dimension, size)
            first_input = first_inputs.setdefault(dimension, name)
            if first_size != size:
                raise Deep500Error(
                    f"the inputs bring different sizes of {dimension!r}: {first_input} "
                    f"{first_size}, {name} {size}"
                )
    return sizes


def _fits(declared: tuple[int | str, ...], shape: tuple[int, ...]) -> bool:
    if len(declared) != len(shape):
        return False
    for dimension, size in zip(declared, shape, strict=True):
        if not isinstance(dimension, str) and dimension != size:
            return False
    return True
