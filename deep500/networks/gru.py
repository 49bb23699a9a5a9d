"""Gated recurrent units (Cho et al., 2014)."""

from types import MappingProxyType

from ._recurrent import RecurrentClassifier


class GRU(RecurrentClassifier):
    """GRU layers over a sequence of vectors; the state at its end determines the class."""

    operator = "GRU"
    gates = 3
    # As PyTorch and cuDNN compute it.
    attributes = MappingProxyType({"linear_before_reset": 1})
    tiny = ({"hidden": 4, "layers": 2}, (5, 3), 3)
