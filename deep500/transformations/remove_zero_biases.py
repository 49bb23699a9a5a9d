from dataclasses import replace

from ..contracts.network import Network
from ..contracts.transformation import Transformation
from ._matching import Rewriting, kind

WITH_BIAS = {"Conv", "ConvTranspose", "Gemm"}  # operators whose third input is one


class RemoveZeroBiases(Transformation):
    """Leaves out biases of Conv, ConvTranspose and Gemm that are constant zeros."""

    def apply(self, network: Network) -> None:
        rewriting = Rewriting(network)
        for node in rewriting.nodes:
            if kind(node) not in WITH_BIAS or len(node.inputs) < 3:
                continue
            bias = rewriting.constant(node.inputs[2])
            if bias is not None and not bias.any():
                rewriting.replace(node, replace(node, inputs=node.inputs[:2]))
        rewriting.finish()
