"""ONNX models; what is constant in them is computed by the reference framework while reading."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..contracts.format import Format
from ..contracts.network import Network

if TYPE_CHECKING:
    import onnx


class Onnx(Format):
    """A path, bytes or an onnx.ModelProto. Backward passes are recorded by the nodes of ONNX's own schema."""

    extra = "onnx"

    def read(self, source: Any, given: Mapping[str, np.ndarray] | None = None) -> Network:
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
        self, network: Network, y: str, shapes: Mapping[str, Sequence[int]], training: bool
    ) -> "onnx.ModelProto":
        self.require("onnx", "spox")
        from ..onnx.recording.graphs import backward_model
        from ..onnx.recording.namespace import Recorder

        return backward_model(Recorder(), network, y, shapes, training)
