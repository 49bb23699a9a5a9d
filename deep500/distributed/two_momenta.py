"""A codec that has momentum, in the hands of an optimizer that has it, too."""

import warnings

from ..codecs.momentum_correction import MomentumCorrection
from ..contracts.optimizer import Optimizer
from ..contracts.scheme import Scheme

NAMES = ("momentum", "beta1")  # that optimizers give their settings


def warn_of_two_momenta(scheme: Scheme, optimizer: Optimizer) -> None:
    codec = getattr(scheme, "codec", None)
    if not isinstance(codec, MomentumCorrection) or not codec.momentum:
        return
    if any(getattr(optimizer, name, 0) for name in NAMES):
        kind = type(optimizer).__name__
        warnings.warn(
            f"MomentumCorrection has momentum, and so has {kind}: gradients get it twice, which may not converge; "
            "train with SGD",
            stacklevel=3,
        )
