"""Which weights of a file are trained: what it says about that, and a rule where it says nothing."""

import json
from collections.abc import Mapping

import numpy as np
import onnx

from ..contracts.network import Network
from ..errors import Deep500Error

RUNNING = {
    "BatchNormalization": {3: 1, 4: 2}
}  # inputs that are running statistics, and the outputs that replace them
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
PRODUCTS = {"MatMul", "Gemm", "Conv", "Einsum"}  # an Add behind one adds its bias
FLOATS = {"float16", "bfloat16", "float32", "float64"}
KIND = "pkg.torch.export.graph_signature.InputSpec.kind"  # how PyTorch's exporter marks what it writes


class Roles:
    """Decides for every use of a weight whether that makes it a parameter to be trained.

    PyTorch's exporter says which weights were parameters and which buffers. Without such a word, a float array is
    trained unless it is a running statistic, comes in where ONNX's schema has no derivative (bounds, ratios), has
    entries that no weight has (an infinity, or the least number of its type: a mask), or is a single number, most
    often a setting (an exponent, an epsilon, a scale). A single number is trained where it can only be a parameter,
    as in a Gemm or in the Add behind a MatMul.
    """

    def __init__(self, graph: onnx.GraphProto):
        self.said = {
            info.name: entry.value == "PARAMETER"
            for info in graph.value_info
            for entry in info.metadata_props
            if entry.key == KIND
        }
        self.makers = {
            output: node.op_type for node in graph.node for output in node.output
        }

    def trains(
        self,
        node: onnx.NodeProto,
        position: int,
        name: str,
        weight: np.ndarray,
        schema: onnx.defs.OpSchema | None,
    ) -> bool:
        if weight.dtype.name not in FLOATS or position in RUNNING.get(node.op_type, ()):
            return False
        if name in self.said:
            return self.said[name]
        if _without_derivative(schema, position) or not _finite(weight):
            return False
        return weight.size > 1 or self._single(node, position)

    def _single(self, node: onnx.NodeProto, position: int) -> bool:
        if node.op_type in PARAMETRIC:
            return position > 0
        others = [name for i, name in enumerate(node.input) if i != position]
        return node.op_type in PRODUCTS or (
            node.op_type == "Add" and self.makers.get(others[0]) in PRODUCTS
        )


def _without_derivative(schema: onnx.defs.OpSchema | None, position: int) -> bool:
    if schema is None or not schema.inputs:
        return False
    formal = schema.inputs[min(position, len(schema.inputs) - 1)]
    return (
        formal.differentiation_category
        == onnx.defs.OpSchema.DifferentiationCategory.NonDifferentiable
    )


def _finite(weight: np.ndarray) -> bool:
    """Whether all entries could be weights: masks hold infinities, or the least number of their type."""
    return bool(
        np.all(
            np.abs(weight.astype(np.float32))
            < (3e4 if weight.dtype == np.float16 else 1e30)
        )
    )


def read_roles(network: Network, metadata: Mapping[str, str]) -> None:
    """What is trained, as the file says if Deep500 wrote it."""
    if "deep500.trainable" not in metadata:
        return
    try:
        trainable = json.loads(metadata["deep500.trainable"])
        updates = json.loads(metadata.get("deep500.state_updates", "{}"))
        values = {o for n in network.nodes for o in n.outputs}
        right = (
            set(trainable) <= set(network.params)
            and set(updates) <= set(network.params)
            and set(updates.values()) <= values
            and isinstance(trainable, list)
        )
    except (ValueError, TypeError, AttributeError, RecursionError):
        right = False
    if not right:
        raise Deep500Error(
            "its metadata name parameters that it does not have; remove deep500.* from metadata_props"
        )
    network.trainable, network.state_updates = trainable, updates
