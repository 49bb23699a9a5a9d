"""float16: 11 bits of precision and a small range, which needs loss scaling."""

from ..contracts.network import Network
from ..contracts.precision import Precision
from ._insertion import compute_in


class Float16(Precision):
    """Products and the operators after them in float16, by the framework's own kernels; weights stay in float32.

    The loss is scaled so that small gradients do not vanish; steps whose gradients overflow are skipped and counted.
    """

    loss_scale: float = 65536.0
    dynamic: bool = True
    dtype = "float16"

    def apply(self, network: Network) -> None:
        compute_in(network, "float16")
