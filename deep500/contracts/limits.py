"""What a run would cost, estimated from shapes before it is paid: a file of a hundred bytes can ask for terabytes."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import Deep500Error, Unsupported
from .graph import Node
from .network import Network
from .operator import Tensor
from .shape_inference import Mismatch, Specs, dimension_names, node_specs

LARGEST = 1 << 26  # bytes that one node may need for its results or its windows …
GROWTH = 1000  # … or so many times what inputs and parameters hold, if that is more
MOST_OPERATIONS = 10**11  # of one node …
OPERATIONS_PER_BYTE = 10**6  # … or so many for every byte of inputs and parameters
LARGEST_SETTING = 2**31 - 1  # frameworks count windows in 32 bits
MOST_STEPS = 100_000
RECURRENT = ("RNN", "LSTM", "GRU")
WINDOWS = ("kernel_shape", "strides", "dilations")


def check_cost(network: Network, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse a network with a node that needs far more than inputs of these shapes explain.

    Shapes that cannot be inferred are not judged.
    """
    specs: Specs = {
        name: Tensor(tuple(p.shape), str(p.dtype)) for name, p in network.params.items()
    }
    for name, tensor in network.inputs.items():
        if name in shapes:
            specs[name] = Tensor(tuple(shapes[name]), tensor.dtype)
        elif not dimension_names([tensor]):
            specs[name] = tensor  # such as the key of a random node
    brought = sum(tensor.nbytes for tensor in specs.values())
    for node in network.ordered():
        _check_settings(node)
        try:
            results = node_specs(node, specs)
        except Mismatch:  # the framework says so
            continue
        if results is not None:
            _check_node(node, specs, results, brought)
            specs.update(zip(node.outputs, results, strict=False))


def _check_settings(node: Node) -> None:
    """Windows of no length, and numbers that overflow where frameworks use them unchecked."""
    settings = node.operator.settings
    for name in (*WINDOWS, "pads"):
        least = -LARGEST_SETTING if name == "pads" else 1
        values = settings.get(name)
        if not isinstance(values, tuple):
            continue
        wrong = [n for n in values if not least <= n <= LARGEST_SETTING]
        if wrong:
            raise Deep500Error(f"node {node.name!r} has {wrong[0]} among its {name}")


def _check_node(
    node: Node, specs: Specs, results: Sequence[Tensor], brought: int
) -> None:
    if any(size < 0 for tensor in results for size in tensor.shape):
        shapes = ", ".join(str(list(tensor.shape)) for tensor in results)
        raise Deep500Error(f"node {node.name!r} would make a negative shape: {shapes}")
    needed = max(
        sum(tensor.nbytes for tensor in results), _window_bytes(node, specs, results)
    )
    if needed > max(LARGEST, GROWTH * brought):
        raise Unsupported(
            f"node {node.name!r} ({type(node.operator).__name__}) needs {_readable(needed)}, where "
            f"inputs and parameters hold {_readable(brought)}: at most {_readable(LARGEST)}, or "
            f"{GROWTH} times as much as they hold, is computed"
        )
    _check_rounds(node, specs, brought)
    work = _operations(node, specs)
    if work > max(MOST_OPERATIONS, OPERATIONS_PER_BYTE * brought):
        raise Unsupported(
            f"node {node.name!r} ({type(node.operator).__name__}) takes {work:.1e} operations: at "
            f"most {MOST_OPERATIONS:.0e}, or {OPERATIONS_PER_BYTE:.0e} for every byte of inputs and "
            "parameters, are computed"
        )


def _check_rounds(node: Node, specs: Specs, brought: int) -> None:
    """A recurrent node goes through its sequence one step after the other."""
    name = type(node.operator).__name__
    sequence = specs.get(str(node.inputs[0])) if node.inputs else None
    if name not in RECURRENT or sequence is None or not sequence.shape:
        return
    steps = max(sequence.shape[:2])
    if steps > max(MOST_STEPS, brought):
        raise Unsupported(
            f"node {node.name!r} ({name}) goes through {steps} steps: at most {MOST_STEPS} are "
            "computed where the input of the network is shorter"
        )


def _window_bytes(node: Node, specs: Specs, results: Sequence[Tensor]) -> int:
    """What a convolution or pooling may unfold: its padded input, and a window for every result."""
    settings = node.operator.settings
    source = (
        specs.get(node.inputs[0])
        if node.inputs and isinstance(node.inputs[0], str)
        else None
    )
    if source is None:
        return 0
    kernel = settings.get("kernel_shape") or ()
    windows = results[0].nbytes * math.prod(kernel) if results else 0
    return max(windows, _padded_bytes(source, settings))


def _padded_bytes(source: Tensor, settings: Mapping[str, Any]) -> int:
    pads = settings.get("pads")
    if not isinstance(pads, tuple):
        return 0
    spatial = len(pads) // 2
    added = [
        max(0, pads[axis]) + max(0, pads[axis + spatial]) for axis in range(spatial)
    ]
    inner = source.shape[len(source.shape) - spatial :]
    padded = math.prod(size + more for size, more in zip(inner, added, strict=False))
    return source.nbytes // max(1, math.prod(inner)) * padded


def _operations(node: Node, specs: Specs) -> int:
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
