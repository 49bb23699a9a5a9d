"""The ONNX format; constant nodes are computed by the reference framework while reading."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..contracts.format import Format
from ..contracts.network import Network
from ..graph.shape_inference import sized

if TYPE_CHECKING:
    import onnx


class Onnx(Format):
    """Reads a path, bytes or an onnx.ModelProto. Backward passes are recorded with the nodes of ONNX's own schema."""

    extra = "onnx"

    def read(
        self, source: Any, input_values: Mapping[str, np.ndarray] | None = None
    ) -> Network:
        self.require("onnx")
        from ..frameworks.reference import FRAMEWORK
        from ..onnx.files import read

        return read(source, FRAMEWORK.evaluate, input_values)

    def write(
        self, network: Network, path: "str | os.PathLike[str] | None" = None
    ) -> "onnx.ModelProto":
        self.require("onnx")
        from ..onnx.files import write

        return write(network, path)

    def backward(
        self,
        network: Network,
        y: str,
        sizes: Mapping[str, int] | None,
        training: bool,
    ) -> Network:
        self.require("onnx", "spox")
        from ..onnx.recording.any_batch import any_size_model
        from ..onnx.recording.graphs import backward_model
        from ..onnx.recording.namespace import OnnxRecorder

        def record(sizes: Mapping[str, int]) -> "onnx.ModelProto":
            shapes = {}
            for name, spec in network.inputs.items():
                shapes[name] = sized(spec, sizes).shape
            return backward_model(OnnxRecorder(), network, y, shapes, training)

        if sizes is None:
            model = any_size_model(record, network.inputs)
        else:
            model = record(sizes)
        return self.read(model)
