"""Shapes of a network's values when its open dimensions have their sizes."""

from collections.abc import Mapping
from typing import Any

from ...contracts.network import Network
from ...contracts.operator import Tensor
from ...errors import Deep500Error


def input_tensors(
    network: Network, batch: int = 1, sizes: Mapping[str, int] | None = None
) -> dict[str, Tensor]:
    """Every input with its dimensions bound: the first one to the batch, others by their names."""
    if batch < 1:
        raise Deep500Error(f"a batch of {batch}: give 1 or more")
    known = {"batch": batch, **(sizes or {})}
    found = {}
    for name, tensor in network.inputs.items():
        shape = tuple(_size(name, n, i, batch, known) for i, n in enumerate(tensor.shape))
        found[name] = Tensor(shape, tensor.dtype)
    return found


def _size(name: str, n: Any, axis: int, batch: int, known: Mapping[str, int]) -> int:
    if isinstance(n, int) and n:
        return n
    if isinstance(n, str) and n in known:
        return known[n]
    if axis == 0:
        return batch
    raise Deep500Error(
        f"the dimension {n!r} of the input {name!r} has no size: give one, as in --size {n}=64"
    )


def value_specs(network: Network, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Shape and dtype of every value that follows from those of the inputs."""
    specs = {name: Tensor(p.shape, str(p.dtype)) for name, p in network.params.items()}
    specs |= tensors
    for node in network.ordered():
        inputs = [specs.get(i) if isinstance(i, str) else i for i in node.inputs]
        without_key = inputs[: len(node.operator.inputs)] if node.operator.random else inputs
        try:
            results = node.operator.infer(*without_key)
        except Exception:  # it needs a value, or a shape that only a run brings
            continue
        specs.update(zip(node.outputs, results, strict=False))
    return specs
