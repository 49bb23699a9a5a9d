"""ONNX models; what is constant in them is computed by the reference framework while reading."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..contracts.format import Format
from ..contracts.network import Network
from ..contracts.shape_inference import sized

if TYPE_CHECKING:
    import onnx


class Onnx(Format):
    """A path, bytes or an onnx.ModelProto. Backward passes are recorded by the nodes of ONNX's own schema."""

    extra = "onnx"

    def read(
        self, source: Any, given: Mapping[str, np.ndarray] | None = None
    ) -> Network:
        self.require("onnx")
        from ..frameworks.reference import FRAMEWORK
        from ..onnx.files import read

        return read(source, FRAMEWORK.evaluate, given)

    def write(
        self, network: Network, path: "str | os.PathLike[str] | None" = None
    ) -> "onnx.ModelProto":
        self.require("onnx")
        from ..onnx.files import write

        return write(network, path)

    def backward(
        self, network: Network, y: str, sizes: Mapping[str, int] | None, training: bool
    ) -> Network:
        self.require("onnx", "spox")
        from ..onnx.recording.any_batch import any_size_model
        from ..onnx.recording.graphs import backward_model
        from ..onnx.recording.namespace import Recorder

        def record(sizes: Mapping[str, int]) -> "onnx.ModelProto":
            shapes = {
                name: sized(spec, sizes).shape for name, spec in network.inputs.items()
            }
            return backward_model(Recorder(), network, y, shapes, training)

        model = (
            any_size_model(record, network.inputs) if sizes is None else record(sizes)
        )
        return self.read(model)
