"""Inputs of a network: drawn by a seed from what its inputs may be, or brought in a file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ....contracts.network import Network, Node
from ....contracts.operator import Tensor
from ....errors import Deep500Error, one_line
from ...checking.examples import generator
from ...checking.formats import FORMATS

BATCH = 2
SIZES = (
    4,
    8,
    16,
    32,
    64,
    128,
    224,
)  # tried in turn for dimensions that the network leaves open
MOST = 2  # whole numbers that nothing restricts are below this
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
    """An array for every input: floats normal, indices and labels within what takes them."""
    specs = _specs(network, dict(dimensions or {}))
    data = {}
    for name in network.inputs:
        draw = generator("network input", name, seed)
        data[name] = _drawn(specs[name], _limit(network, name, specs), draw)
    return data


def _drawn(spec: Tensor, limit: int, draw: np.random.Generator) -> np.ndarray:
    if spec.dtype in FORMATS:
        return draw.standard_normal(spec.shape).astype(spec.dtype)
    if spec.dtype == "bool":
        return draw.integers(0, 2, spec.shape).astype(bool)
    return draw.integers(0, limit, spec.shape).astype(spec.dtype)


def _specs(network: Network, dimensions: dict[str, int]) -> dict[str, Tensor]:
    """Shapes of all values, with the smallest size for open dimensions that leaves no shape unknown."""
    batch = {name: BATCH for name in network.dimensions[:1] if name not in dimensions}
    most: dict[str, Tensor] = {}
    for size in SIZES:
        open_ = {name: size for name in network.dimensions}
        found = network.specs(open_ | batch | dimensions)
        if len(found) > len(most):
            most = found
        made = {name for node in network.nodes for name in node.outputs}
        if made <= found.keys() or not open_.keys() - batch.keys() - dimensions.keys():
            break
    return most


def _limit(network: Network, name: str, specs: Mapping[str, Tensor]) -> int:
    """How many values a whole number may take: the least that its users allow."""
    found = [size for size in _limits(network, name, specs) if size > 0]
    return min(found, default=MOST)


def _limits(network: Network, name: str, specs: Mapping[str, Tensor]) -> list[int]:
    found, reached, seen = [], [name], {name}
    while reached:
        value = reached.pop()
        for node in network.consumers(value):
            place = node.inputs.index(value)
            limit = _taken(node, place, specs)
            if limit:
                found.append(limit)
            elif type(node.operator).__name__ in KEEPING and place == 0:
                reached += [output for output in node.outputs if output not in seen]
                seen.update(node.outputs)
    return found


def _taken(node: Node, place: int, specs: Mapping[str, Tensor]) -> int:
    """The size of what this input of a node counts; 0, if it counts nothing."""
    kind = type(node.operator).__name__
    first = specs.get(str(node.inputs[0]))
    if place == 1 and first is not None:
        if kind in INDEXED:
            return first.shape[node.operator.settings.get("axis", 0)]
        if kind == "GatherND":
            return min(first.shape, default=0)
        if kind in LABELLED:
            return first.shape[1]
    if kind == "OneHot" and place == 0:
        depth: Any = node.inputs[1]
        return 0 if isinstance(depth, str) else int(np.ravel(depth)[0])
    return 0


def data_from_file(network: Network, path: str | Path) -> dict[str, np.ndarray]:
    """The arrays of an .npz file, one for every input of the network."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, AttributeError, KeyError) as error:
        raise Deep500Error(
            f"{path} is no .npz file of arrays: {one_line(error)}"
        ) from None
    return checked_data(network, arrays)


def checked_data(network: Network, arrays: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The arrays in the dtypes of the network's inputs; a missing one or a wrong shape is refused."""
    found = {}
    for name, spec in network.inputs.items():
        if name not in arrays:
            there = ", ".join(arrays) or "none"
            raise Deep500Error(
                f"the data have no {name!r}, an input of the network; there are: {there}"
            )
        found[name] = np.asarray(arrays[name]).astype(spec.dtype)
    network.check_shapes(
        list(network.inputs), {name: x.shape for name, x in found.items()}
    )
    return found
