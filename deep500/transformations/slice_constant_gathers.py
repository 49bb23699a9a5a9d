from dataclasses import replace

import numpy as np

from ..contracts.network import Network, Node
from ..contracts.transformation import Transformation
from ._matching import Rewriting, kind, operator


class SliceConstantGathers(Transformation):
    """Turns a Gather with consecutive constant indices into a Slice, which frameworks need not copy.

    A scalar index becomes Slice and Squeeze; a Gather of all indices is removed.
    """

    def apply(self, network: Network) -> None:
        rewriting = Rewriting(network)
        for node in rewriting.nodes:
            if kind(node) == "Gather":
                _slice(rewriting, node)
        rewriting.finish()


def _slice(values: Rewriting, node: Node) -> None:
    data = str(node.inputs[0])
    output = node.outputs[0]
    shape = values.shape(data)
    indices = values.constant(node.inputs[1])
    if shape is None or indices is None:
        return
    if indices.ndim > 1 or not indices.size:
        return
    axis = node.operator.settings["axis"] % len(shape)
    length = shape[axis]
    if not isinstance(length, int) or not _are_consecutive(indices, length):
        return
    if indices.ndim == 1 and indices.size == length:
        values.bypass(output, data)
        return
    first = int(indices.reshape(-1)[0])
    start = first % length
    stop = start + indices.size
    inputs = (data, (start,), (stop,), (axis,))
    slice_operator = operator("Slice")
    if indices.ndim == 1:
        sliced = replace(node, operator=slice_operator, inputs=inputs)
        values.replace(node, sliced)
        return
    row = values.new_name(f"{output}.row")
    row_name = values.new_name(f"{node.name}.row")
    sliced = Node(row_name, slice_operator, inputs, (row,))
    squeezed = replace(node, operator=operator("Squeeze"), inputs=(row, (axis,)))
    values.replace(node, sliced, squeezed)


def _are_consecutive(indices: np.ndarray, length: int) -> bool:
    """Whether the indices are in range, each one larger by 1 than the one before."""
    flat = indices.reshape(-1)
    if flat.min() < -length or flat.max() >= length:
        return False
    from_start = np.where(flat < 0, flat + length, flat)
    steps = np.diff(from_start)
    return bool((steps == 1).all())
