from dataclasses import replace

from ..contracts.network import Network
from ..contracts.transformation import Transformation
from ._matching import Rewriting, kind

# operators whose third input is a bias
WITH_BIAS = {"Conv", "ConvTranspose", "Gemm"}


class RemoveZeroBiases(Transformation):
    """Leaves out biases of Conv, ConvTranspose and Gemm that are constant zeros."""

    def apply(self, network: Network) -> None:
        rewriting = Rewriting(network)
        for node in rewriting.nodes:
            if kind(node) not in WITH_BIAS or len(node.inputs) < 3:
                continue
            x, weight, name = node.inputs
            bias = rewriting.constant(name)
            if bias is not None and not bias.any():
                without_bias = replace(node, inputs=(x, weight))
                rewriting.replace(node, without_bias)
        rewriting.finish()
