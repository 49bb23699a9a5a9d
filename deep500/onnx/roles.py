"""Decides which weights of a file are trained: by what the file declares, or else by a rule."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx

from ..contracts.network import Network
from ..errors import Deep500Error
from ..graph.weights import listed

# Inputs that are running statistics, and the outputs that replace them.
RUNNING = {"BatchNormalization": {3: 1, 4: 2}}
# Operators whose inputs from 1 on are parameters, of whatever size.
PARAMETRIC = {
    "Conv",
    "ConvTranspose",
    "ConvInteger",
    "DeformConv",
    "Gemm",
    "PRelu",
    "BatchNormalization",
    "InstanceNormalization",
    "GroupNormalization",
    "LayerNormalization",
    "RMSNormalization",
    "LSTM",
    "GRU",
    "RNN",
}
# an Add behind one adds its bias
PRODUCTS = {"MatMul", "Gemm", "Conv", "Einsum"}
FLOATS = {"float16", "bfloat16", "float32", "float64"}
HIDING = -1e3  # what a mask adds to scores that must not count is this or less
FEWEST_POSITIONS = 3  # of a triangular mask: smaller matrices could be weights
MASK_SAMPLE = 1024  # so many numbers tell that almost all weights are no mask
# The key under which PyTorch's exporter writes whether a weight was a parameter or a buffer.
KIND = "pkg.torch.export.graph_signature.InputSpec.kind"


class Roles:
    """Decides for every use of a weight whether that makes it a parameter to be trained.

    PyTorch's exporter declares which weights were parameters and which buffers. Without such a declaration, a float
    array is trained unless it is a running statistic, is an input without a derivative in ONNX's schema (bounds,
    ratios), is a mask (it has an infinity or the least number of its type, or two numbers alone, as masks have), or is
    a single number, most often a setting (an exponent, an epsilon, a scale). A single number is trained where it can
    only be a parameter, as in a Gemm or in the Add behind a MatMul.
    """

    def __init__(self, graph: onnx.GraphProto):
        self.is_parameter: dict[str, bool] = {}  # as the exporter declares it
        for info in graph.value_info:
            for entry in info.metadata_props:
                if entry.key == KIND:
                    self.is_parameter[info.name] = entry.value == "PARAMETER"
        # the operator that computes each value
        self.producers: dict[str, str] = {}
        for node in graph.node:
            self.producers |= dict.fromkeys(node.output, node.op_type)

    def trains(
        self,
        node: onnx.NodeProto,
        position: int,
        name: str,
        weight: np.ndarray,
        schema: onnx.defs.OpSchema | None,
    ) -> bool:
        """Whether this use of a weight, at a position among a node's inputs, makes it a trained parameter."""
        statistics = RUNNING.get(node.op_type, {})
        if weight.dtype.name not in FLOATS or position in statistics:
            return False
        if name in self.is_parameter:
            return self.is_parameter[name]
        if _without_derivative(schema, position) or not _finite(weight):
            return False
        if _is_mask(weight):
            return False
        if weight.size > 1:
            return True
        return self._trains_single(node, position)

    def _trains_single(self, node: onnx.NodeProto, position: int) -> bool:
        """Whether a single number can only be a parameter."""
        if node.op_type in PARAMETRIC:
            return position > 0
        if node.op_type in PRODUCTS:
            return True
        if node.op_type != "Add":
            return False
        first, second = node.input
        other = second if position == 0 else first
        return self.producers.get(other) in PRODUCTS


def _without_derivative(schema: onnx.defs.OpSchema | None, position: int) -> bool:
    if schema is None or not schema.inputs:
        return False
    last = len(schema.inputs) - 1
    formal = schema.inputs[min(position, last)]
    categories = onnx.defs.OpSchema.DifferentiationCategory
    return formal.differentiation_category == categories.NonDifferentiable


def _finite(weight: np.ndarray) -> bool:
    """Whether all entries could be weights: masks hold infinities, or the least number of their type."""
    limit = 1e30
    if weight.dtype == np.float16:
        limit = 3e4
    magnitudes = np.abs(weight.astype(np.float32))
    return bool(np.all(magnitudes < limit))


def _is_mask(weight: np.ndarray) -> bool:
    """Whether it has two numbers alone: 0 and a very negative one, or one in each triangle."""
    values = np.unique(weight.reshape(-1)[:MASK_SAMPLE].astype(np.float32))
    if weight.ndim < 2 or len(values) > 2:
        return False
    numbers = weight.astype(np.float32)
    low, high = float(numbers.min()), float(numbers.max())
    if low == high or not np.all((numbers == low) | (numbers == high)):
        return False
    return (high == 0 and low <= HIDING) or _is_triangular(numbers == high)


def _is_triangular(chosen: np.ndarray) -> bool:
    """Whether what is chosen is one triangle of every matrix, with the diagonal or without it."""
    rows, columns = chosen.shape[-2:]
    if min(rows, columns) < FEWEST_POSITIONS:
        return False
    for diagonal in (0, -1, columns - rows, columns - rows - 1):
        lower = np.tri(rows, columns, diagonal, dtype=bool)
        if np.all(chosen == lower) or np.all(chosen != lower):
            return True
    return False


def read_roles(network: Network, metadata: Mapping[str, str]) -> None:
    """Set what is trained and which statistics are updated, if Deep500 wrote that into the file's metadata.

    If a parameter that the metadata name is gone, another program has changed the file: the rule decides again.
    """
    if "deep500.trainable" not in metadata:
        return
    trainable = _names(metadata["deep500.trainable"], list)
    updates = _names(metadata.get("deep500.state_updates", "{}"), dict)
    values: set[str] = set()
    for node in network.nodes:
        values.update(node.outputs)
    for name, value in updates.items():
        if name in network.params and value in values:
            network.state_updates[name] = value
    lost = [name for name in (*trainable, *updates) if name not in network.params]
    if not lost:
        network.trainable = trainable
        return
    network.trainable = [
        name for name in network.trainable if name not in network.state_updates
    ]
    network.remarks.append(
        f"another program has removed {listed(lost)}, which Deep500 wrote into the file: every weight is trained "
        "that looks like one"
    )


def _names(text: str, kind: type) -> Any:
    """The list or dict of names that Deep500 wrote; raises a Deep500Error for anything else."""
    try:
        names = json.loads(text)
    except (ValueError, RecursionError):
        names = None
    entries = [*names, *names.values()] if isinstance(names, dict) else names
    if isinstance(names, kind) and all(isinstance(e, str) for e in entries):
        return names
    raise Deep500Error(
        "its metadata do not tell what is trained; remove deep500.* from metadata_props"
    )
