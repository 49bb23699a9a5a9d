"""The shapes of a network's inputs and values, once its open dimensions have sizes."""

from collections.abc import Mapping

from ..contracts.network import Network
from ..contracts.operator import TensorSpec
from ..errors import Deep500Error
from ..graph import shape_inference
from ..graph.shape_inference import spec_of


def input_tensors(
    network: Network, batch: int = 1, sizes: Mapping[str, int] | None = None
) -> dict[str, TensorSpec]:
    """Shape and dtype of every input: an open first dimension is the batch size, others have the sizes of their names.

    Raises `Deep500Error` if a dimension has no size.
    """
    is_whole = hasattr(batch, "__index__")
    if not is_whole or batch < 1:
        raise Deep500Error(f"a batch of {batch!r}: give a whole number, 1 or more")
    dimensions: dict[str, int] = {}
    for tensor in network.inputs.values():
        if tensor.shape and isinstance(tensor.shape[0], str):
            dimensions[tensor.shape[0]] = batch
    dimensions |= dict(sizes or {})
    for name in network.dimensions:
        if name not in dimensions:
            raise Deep500Error(
                f"the dimension {name!r} has no size: give one, as in --set {name}=64"
            )
    return {
        name: shape_inference.sized(tensor, dimensions)
        for name, tensor in network.inputs.items()
    }


def value_specs(
    network: Network, tensors: Mapping[str, TensorSpec]
) -> dict[str, TensorSpec]:
    """Shape and dtype of every value that can be inferred from those of the inputs."""
    params = {name: spec_of(value) for name, value in network.params.items()}
    return shape_inference.infer(network.ordered(), params | dict(tensors))
