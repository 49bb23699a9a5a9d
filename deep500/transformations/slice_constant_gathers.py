from dataclasses import replace

import numpy as np

from ..contracts.network import Network, Node
from ..contracts.transformation import Transformation
from ._matching import Rewriting, kind, operator


class SliceConstantGathers(Transformation):
    """Turns a Gather of neighbouring places that are constant into a Slice, which frameworks need not copy.

    One place becomes Slice and Squeeze; all places are the data themselves.
    """

    def apply(self, network: Network) -> None:
        rewriting = Rewriting(network)
        for node in rewriting.nodes:
            if kind(node) == "Gather":
                _slice(rewriting, node)
        rewriting.finish()


def _slice(values: Rewriting, node: Node) -> None:
    data, output = str(node.inputs[0]), node.outputs[0]
    shape, places = values.shape(data), values.constant(node.inputs[1])
    if shape is None or places is None or places.ndim > 1 or not places.size:
        return
    axis = node.operator.settings["axis"] % len(shape)
    length = shape[axis]
    if not isinstance(length, int) or not _are_neighbours(places, length):
        return
    start = int(places.reshape(-1)[0]) % length
    stop = start + places.size
    if places.ndim == 1 and places.size == length:
        values.bypass(output, data)
        return
    window = (data, (start,), (stop,), (axis,))
    if places.ndim == 1:
        values.replace(node, replace(node, operator=operator("Slice"), inputs=window))
        return
    row = values.new_name(f"{output}.row")
    sliced = Node(
        values.new_name(f"{node.name}.row"), operator("Slice"), window, (row,)
    )
    squeezed = replace(node, operator=operator("Squeeze"), inputs=(row, (axis,)))
    values.replace(node, sliced, squeezed)


def _are_neighbours(places: np.ndarray, length: int) -> bool:
    """Whether the places are in range, each one behind the one before."""
    flat = places.reshape(-1)
    if flat.min() < -length or flat.max() >= length:
        return False
    upwards = np.where(flat < 0, flat + length, flat)
    return bool((np.diff(upwards) == 1).all())
