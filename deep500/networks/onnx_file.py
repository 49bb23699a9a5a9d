"""A classifier in an ONNX file."""

from collections.abc import Sequence

from ..contracts.model import Model
from ..contracts.network import Network
from ..contracts.operator import TensorSpec
from ..errors import Deep500Error


class OnnxFile(Model):
    """A classifier in an ONNX file: inputs "x" and "label", outputs "loss" and "logits"."""

    path: str

    def build(
        self,
        shape: Sequence[int],
        outputs: int,
        seed: int = 0,
        dtype: str = "float32",
    ) -> Network:
        """The network in the file, which brings its own weights: the seed changes nothing."""
        network = Network.from_onnx(self.path)
        inputs = {
            "x": TensorSpec(("batch", *shape), dtype),
            "label": TensorSpec(("batch",), "int64"),
        }
        has_outputs = {"loss", "logits"} <= set(network.outputs)
        if network.inputs != inputs or not has_outputs:
            raise Deep500Error(
                f"{self.path} has the inputs {network.inputs} and the outputs {network.outputs}; "
                f"the inputs {inputs} and the outputs loss and logits are wanted"
            )
        return network
