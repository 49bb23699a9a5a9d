"""The precision contract: the number formats with which a network is trained."""

from dataclasses import field
from typing import ClassVar

import numpy as np

from ..definition import Definition
from ..errors import Deep500Error, lacking
from ..namespace import Namespace
from .framework import Framework
from .network import Network

SCALE = "loss_scale"  # the input that the loss is multiplied by
SCALED = "scaled loss"


class Precision(Definition):
    """A MUTABLE entry of a recipe. Weights, gradients and the optimizer's state stay in float32 unless it changes that.

    apply(network)   Changes this network, which is a copy, by adding casts or nodes that round.
    dtype   The dtype that a framework must have for it; None if float32 is enough.
    round_weights(xp, weights, key)   If `rounds_weights`: rounds the weights, a flat float32 vector, after an update;
        `key` is the key of the step for `xp.uniform`.
    """

    dtype: ClassVar[str | None] = None
    rounds_weights: ClassVar[bool] = False

    loss_scale: float = field(default=1.0, kw_only=True)
    # halve the scale after an overflow, double it after `patience` steps without one
    dynamic: bool = field(default=False, kw_only=True)
    patience: int = field(default=2000, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 2.0**-60 <= self.loss_scale <= 2.0**60:
            raise Deep500Error(
                f"a loss scale of {self.loss_scale} is none: give 2^-60 to 2^60"
            )
        if self.patience < 1:
            raise Deep500Error(f"patience is {self.patience}: give 1 step or more")

    @property
    def scales_loss(self) -> bool:
        return self.dynamic or self.loss_scale != 1.0

    def __call__(self, network: Network) -> Network:
        """A copy of the network in this precision."""
        twin = network.copy()
        self.apply(twin)
        if self.scales_loss:
            scale = twin.add_input(SCALE, ())
            twin.add_node("Mul", ["loss", scale], [SCALED])
        return twin

    def apply(self, network: Network) -> None:
        raise lacking(self, "apply")

    def check(self, framework: Framework) -> None:
        """Raise Unsupported if the framework lacks the dtype."""
        if self.dtype is not None:
            framework.dtype(self.dtype)

    def round_weights(
        self, xp: Namespace, weights: np.ndarray, key: np.ndarray
    ) -> np.ndarray:
        raise lacking(self, "round_weights")
