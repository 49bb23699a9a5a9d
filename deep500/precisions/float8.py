"""float8, emulated: e4m3 for factors, e5m2 for gradients (Micikevicius et al., 2022)."""

from ..contracts.network import Network
from ..contracts.precision import Precision
from ._insertion import round_factors, round_gradients
from ._operators import RoundGradient, RoundToFormat
from ._rounding import format_named


class Float8(Precision):
    """Rounds the factors of products to `forward` and the gradients of their results to `backward`; sums in float32.

    Numbers out of range become the largest number of the format. Weights stay in float32.
    """

    forward: str = "float8_e4m3fn"
    backward: str = "float8_e5m2"

    def __post_init__(self) -> None:
        super().__post_init__()
        format_named(self.forward)  # raises if there is no such format
        format_named(self.backward)

    def apply(self, network: Network) -> None:
        round_gradients(network, lambda: RoundGradient(self.backward))
        round_factors(network, lambda: RoundToFormat(self.forward))
