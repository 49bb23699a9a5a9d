"""Inputs of a network: drawn by a seed within the range that the network accepts, or read from a file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...contracts.network import Network, Node
from ...contracts.operator import TensorSpec
from ...errors import Deep500Error, one_line, unknown
from ...graph.arrays import check_kind
from ..operators.examples import generator
from ..operators.formats import FORMATS

BATCH = 2
# tried in turn for dimensions that the network leaves open
SIZES = (4, 8, 16, 32, 64, 128, 224)
MOST = 2  # integers that no node restricts are below this
# operators that pass the integers of their first input on
KEEPING = (
    "Cast",
    "Identity",
    "Reshape",
    "Unsqueeze",
    "Squeeze",
    "Flatten",
    "Transpose",
    "Expand",
)
LABELLED = ("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss")
INDEXED = ("Gather", "GatherElements", "ScatterElements")


def drawn_data(
    network: Network, seed: int = 0, dimensions: Mapping[str, int] | None = None
) -> dict[str, np.ndarray]:
    """An array for every input: normally distributed floats; indices and labels in the range that the nodes accept."""
    specs = _specs(network, dict(dimensions or {}))
    data = {}
    for name in network.inputs:
        rng = generator("network input", name, seed)
        limit = _limit(network, name, specs)
        data[name] = _drawn(specs[name], limit, rng)
    return data


def _drawn(spec: TensorSpec, limit: int, rng: np.random.Generator) -> np.ndarray:
    if spec.dtype in FORMATS:
        floats = rng.standard_normal(spec.shape)
        return floats.astype(spec.dtype)
    if spec.dtype == "bool":
        bits = rng.integers(0, 2, spec.shape)
        return bits.astype(bool)
    integers = rng.integers(0, limit, spec.shape)
    return integers.astype(spec.dtype)


def _specs(network: Network, dimensions: dict[str, int]) -> dict[str, TensorSpec]:
    """Shapes and dtypes of all values, with the smallest size for open dimensions that leaves no shape unknown."""
    _check_dimensions(network, dimensions)
    fixed = dict.fromkeys(network.dimensions[:1], BATCH) | dimensions
    has_open_dimensions = not fixed.keys() >= set(network.dimensions)
    most: dict[str, TensorSpec] = {}
    for size in SIZES:
        sizes = dict.fromkeys(network.dimensions, size) | fixed
        specs = network.specs(sizes)
        if len(specs) > len(most):
            most = specs
        if not has_open_dimensions or _covers(specs, network):
            break
    return most


def _check_dimensions(network: Network, sizes: Mapping[str, int]) -> None:
    for name, size in sizes.items():
        if name not in network.dimensions:
            raise unknown("open dimension", name, network.dimensions)
        if size < 1:
            raise Deep500Error(f"{name}={size}: the size of a dimension is 1 or more")


def _covers(specs: Mapping[str, TensorSpec], network: Network) -> bool:
    """Whether there is a shape for every output of every node."""
    for node in network.nodes:
        for name in node.outputs:
            if name not in specs:
                return False
    return True


def _limit(network: Network, name: str, specs: Mapping[str, TensorSpec]) -> int:
    """The exclusive upper bound of an integer input: the smallest that its consumers allow."""
    limits = [size for size in _limits(network, name, specs) if size > 0]
    return min(limits, default=MOST)


def _limits(network: Network, name: str, specs: Mapping[str, TensorSpec]) -> list[int]:
    """The bounds of all nodes that take the input, or what operators pass on of it."""
    limits = []
    pending = [name]
    seen = {name}
    while pending:
        value = pending.pop()
        for node in network.consumers(value):
            place = node.inputs.index(value)
            limit = _indexed_size(node, place, specs)
            if limit:
                limits.append(limit)
            elif type(node.operator).__name__ in KEEPING and place == 0:
                pending += [output for output in node.outputs if output not in seen]
                seen.update(node.outputs)
    return limits


def _indexed_size(node: Node, place: int, specs: Mapping[str, TensorSpec]) -> int:
    """The size of the axis that this input of a node indexes; 0 if it is not an index."""
    kind = type(node.operator).__name__
    first = specs.get(str(node.inputs[0]))
    if place == 1 and first is not None:
        if kind in INDEXED:
            axis = node.operator.settings.get("axis", 0)
            return first.shape[axis]
        if kind == "GatherND":
            return min(first.shape, default=0)
        if kind in LABELLED:
            return first.shape[1]
    if kind == "OneHot" and place == 0:
        depth: Any = node.inputs[1]
        if not isinstance(depth, str):
            return int(np.ravel(depth)[0])
    return 0


def data_from_file(network: Network, path: str | Path) -> dict[str, np.ndarray]:
    """The arrays of an .npz file, one for every input of the network."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, AttributeError, KeyError) as error:
        reason = one_line(error)
        raise Deep500Error(f"{path} is no .npz file of arrays: {reason}") from None
    return checked_data(network, arrays)


def checked_data(network: Network, arrays: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The arrays in the dtypes of the network's inputs.

    Raises `Deep500Error` if one is missing, has a wrong shape, or would lose something.
    """
    data = {}
    for name, spec in network.inputs.items():
        if name not in arrays:
            names = ", ".join(arrays) or "none"
            raise Deep500Error(
                f"the data have no {name!r}, an input of the network; there are: {names}"
            )
        data[name] = _converted(name, arrays[name], spec)
    shapes = {name: array.shape for name, array in data.items()}
    network.check_shapes(list(network.inputs), shapes)
    return data


def _converted(name: str, value: Any, spec: TensorSpec) -> np.ndarray:
    """The value as an array of the input's dtype; a Deep500Error if it is none, or if its numbers do not fit in it."""
    try:
        check_kind(name, spec.dtype, value)
        array = np.asarray(value)
        converted = array.astype(spec.dtype)
    except (TypeError, ValueError) as error:
        reason = one_line(error)
        raise Deep500Error(
            f"the input {name!r} is no array of {spec.dtype}: {reason}"
        ) from None
    if converted.dtype.kind in "iu" and not np.array_equal(converted, array):
        raise Deep500Error(
            f"the input {name!r} is of {array.dtype}, and some of its numbers are none of {spec.dtype}, which is wanted"
        )
    return converted
