"""Limits on the cost of a run, estimated from shapes before it starts: a tiny file can ask for terabytes."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..contracts.network import Network
from ..contracts.operator import TensorSpec
from ..errors import Deep500Error, Unsupported
from .graph import Node
from .shape_inference import (
    AxisMismatch,
    Mismatch,
    Specs,
    dimension_names,
    node_specs,
    spec_of,
)

# One node may need this many bytes for its results or windows, or GROWTH times the
# bytes of inputs and parameters if that is more.
LARGEST = 1 << 26
GROWTH = 1000
# One node may take this many operations, or so many per byte of inputs and parameters.
MOST_OPERATIONS = 10**11
OPERATIONS_PER_BYTE = 10**6
LARGEST_SETTING = 2**31 - 1  # frameworks count windows in 32 bits
MOST_STEPS = 100_000
RECURRENT = ("RNN", "LSTM", "GRU")
WINDOWS = ("kernel_shape", "strides", "dilations")


def check_cost(network: Network, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise an error if a node needs far more memory or operations than inputs of these shapes explain.

    Nodes whose shapes cannot be inferred are not checked.
    """
    specs: Specs = {name: spec_of(param) for name, param in network.params.items()}
    for name, tensor in network.inputs.items():
        if name in shapes:
            specs[name] = TensorSpec(tuple(shapes[name]), tensor.dtype)
        elif not dimension_names([tensor]):
            specs[name] = tensor  # such as the key of a random node
    source_bytes = sum(tensor.nbytes for tensor in specs.values())
    for node in network.ordered():
        _check_settings(node)
        try:
            results = node_specs(node, specs)
        except AxisMismatch as error:  # which a formula might wrap around
            raise Deep500Error(f"node {node.name!r}: {error}") from None
        except Mismatch:  # the framework will raise an error
            continue
        if results is not None:
            _check_node(node, specs, results, source_bytes)
            specs.update(zip(node.outputs, results, strict=False))


def _check_settings(node: Node) -> None:
    """Raise a Deep500Error for windows of length 0, and for numbers that overflow in frameworks."""
    settings = node.operator.settings
    for name in (*WINDOWS, "pads"):
        least = -LARGEST_SETTING if name == "pads" else 1
        values = settings.get(name)
        if not isinstance(values, tuple):
            continue
        for value in values:
            if not least <= value <= LARGEST_SETTING:
                raise Deep500Error(f"node {node.name!r} has {value} among its {name}")


def _check_node(
    node: Node, specs: Specs, results: Sequence[TensorSpec], source_bytes: int
) -> None:
    """Raise an error if a node has a negative shape, or needs too much memory or too many operations."""
    _check_signs(node, results)
    operator = type(node.operator).__name__
    result_bytes = sum(tensor.nbytes for tensor in results)
    needed = max(result_bytes, _window_bytes(node, specs, results))
    if needed > max(LARGEST, GROWTH * source_bytes):
        needs = _readable(needed)
        sources = _readable(source_bytes)
        largest = _readable(LARGEST)
        raise Unsupported(
            f"node {node.name!r} ({operator}) needs {needs}, where inputs and parameters hold {sources}: "
            f"at most {largest}, or {GROWTH} times as much as they hold, is computed"
        )
    _check_steps(node, specs, source_bytes)
    operations = _operations(node, specs)
    if operations > max(MOST_OPERATIONS, OPERATIONS_PER_BYTE * source_bytes):
        raise Unsupported(
            f"node {node.name!r} ({operator}) takes {operations:.1e} operations: at "
            f"most {MOST_OPERATIONS:.0e}, or {OPERATIONS_PER_BYTE:.0e} for every byte of inputs and "
            "parameters, are computed"
        )


def _check_signs(node: Node, results: Sequence[TensorSpec]) -> None:
    """Raise a Deep500Error if a result has a negative size."""
    shapes = [list(tensor.shape) for tensor in results]
    if any(min(shape, default=0) < 0 for shape in shapes):
        listed = ", ".join(map(str, shapes))
        raise Deep500Error(f"node {node.name!r} would make a negative shape: {listed}")


def _check_steps(node: Node, specs: Specs, source_bytes: int) -> None:
    """Raise Unsupported if a recurrent node, which computes one step after the other, has too many steps."""
    name = type(node.operator).__name__
    if name not in RECURRENT or not node.inputs:
        return
    sequence = specs.get(str(node.inputs[0]))
    if sequence is None or not sequence.shape:
        return
    steps = max(sequence.shape[:2])
    if steps > max(MOST_STEPS, source_bytes):
        raise Unsupported(
            f"node {node.name!r} ({name}) goes through {steps} steps: at most {MOST_STEPS} are "
            "computed where the input of the network is shorter"
        )


def _window_bytes(node: Node, specs: Specs, results: Sequence[TensorSpec]) -> int:
    """The bytes that a convolution or pooling may unfold: its padded input, or a window for every result."""
    settings = node.operator.settings
    if not node.inputs or not isinstance(node.inputs[0], str):
        return 0
    source = specs.get(node.inputs[0])
    if source is None:
        return 0
    padded_bytes = _padded_bytes(source, settings)
    if not results:
        return padded_bytes
    kernel = settings.get("kernel_shape") or ()
    return max(results[0].nbytes * math.prod(kernel), padded_bytes)


def _padded_bytes(source: TensorSpec, settings: Mapping[str, Any]) -> int:
    pads = settings.get("pads")
    if not isinstance(pads, tuple):
        return 0
    rank = len(pads) // 2
    spatial_shape = source.shape[len(source.shape) - rank :]
    padded_size = 1
    for axis, size in enumerate(spatial_shape[:rank]):
        before = max(0, pads[axis])
        after = max(0, pads[axis + rank])
        padded_size *= size + (before + after)
    bytes_per_place = source.nbytes // max(1, math.prod(spatial_shape))
    return bytes_per_place * padded_size


def _operations(node: Node, specs: Specs) -> int:
    """The operations of a node; 0 if they cannot be estimated."""
    inputs = [specs.get(i) if isinstance(i, str) else i for i in node.inputs]
    if node.operator.random:
        inputs = inputs[: len(node.operator.inputs)]
    try:
        return node.operator.flops(*inputs)
    except Exception:  # an estimate only
        return 0


def _readable(count: int) -> str:
    for size, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= size // 2:
            return f"{count / size:,.3g} {unit}"
    return f"{count} bytes"
