"""bfloat16: 8 bits of precision with the range of float32."""

from ..contracts.network import Network
from ..contracts.precision import Precision
from ._insertion import compute_in, round_factors
from ._operators import RoundToFormat


class BFloat16(Precision):
    """Products and the operators after them in bfloat16, by the framework's own kernels; weights stay in float32.

    With `emulated`, the factors of products are rounded to bfloat16 and multiplied in float32, on every framework.
    """

    emulated: bool = False

    @property
    def dtype(self) -> str | None:  # type: ignore[override]
        if self.emulated:
            return None
        return "bfloat16"

    def apply(self, network: Network) -> None:
        if self.emulated:
            round_factors(network, lambda: RoundToFormat("bfloat16"))
        else:
            compute_in(network, "bfloat16")
