"""Momentum correction (Lin et al., Deep Gradient Compression, 2018): ranks accumulate velocities, not gradients."""

from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from ..contracts.codec import Codec, Exchange, Key, Request, State, finite, quiet
from ..contracts.layout import Slot
from ..errors import Deep500Error
from .top_k import TopK


class MomentumCorrection(Codec):
    """u = momentum u + gradient is added to the residual, which `codec` codes; u is cleared where something was sent.

    So a number that is sent late has the momentum that it would have had. Train with an optimizer without momentum.
    """

    codec: Codec = TopK()
    momentum: float = 0.9

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.momentum < 1:
            raise Deep500Error(
                f"momentum of MomentumCorrection is {self.momentum}: give 0 or more, and less than 1"
            )
        if not self.codec.error_feedback:
            raise Deep500Error(
                f"MomentumCorrection({self.codec}): it keeps no residual in which velocities could accumulate; give "
                "one with error feedback, such as TopK(0.01)"
            )

    @property
    def linear(self) -> bool:
        return self.codec.linear

    @property
    def contraction(self) -> float | None:
        return self.codec.contraction

    @property
    def fixed_size(self) -> bool:
        return self.codec.fixed_size

    @property
    def largest(self) -> float:
        return self.codec.largest

    @property
    def most_ranks(self) -> int | None:
        return self.codec.most_ranks

    def encode(self, x: np.ndarray, key: Key) -> np.ndarray:
        return self.codec.encode(x, key)

    def decode(self, payload: np.ndarray, size: int, dtype: Any) -> np.ndarray:
        return self.codec.decode(payload, size, dtype)

    def compress(self, x: np.ndarray, key: Key) -> np.ndarray:
        return self.codec.compress(x, key)

    def expand(self, form: np.ndarray, size: int, dtype: Any, key: Key) -> np.ndarray:
        return self.codec.expand(form, size, dtype, key)

    def wire_bytes(self, size: int, dtype: Any = "float32") -> int:
        return self.codec.wire_bytes(size, dtype)

    def least_wire_bytes(self, size: int, dtype: Any = "float32") -> int:
        return self.codec.least_wire_bytes(size, dtype)

    def aggregate_bytes(
        self, size: int, dtype: Any = "float32", slots: Sequence[Slot] = ()
    ) -> int:
        return self.codec.aggregate_bytes(size, dtype, slots)

    def init(self, size: int, dtype: Any, slots: Sequence[Slot] = ()) -> State:
        return {
            **self.codec.init(size, dtype, slots),
            "velocity": np.zeros(size, dtype),
        }

    def exchange(
        self, x: np.ndarray, state: State, key: Key, slots: Sequence[Slot]
    ) -> Generator[Request, Any, Exchange]:
        return (yield from self.codec.exchange(x, state, key, slots))

    def accumulated(self, buffer: np.ndarray, state: State) -> np.ndarray:
        with quiet():
            return state["residual"] + self._velocity(buffer, state)

    def left(
        self, buffer: np.ndarray, state: State, x: np.ndarray, residual: np.ndarray
    ) -> State:
        velocity = self._velocity(buffer, state)
        velocity[residual != x] = 0
        return {"residual": finite(residual), "velocity": finite(velocity)}

    def _velocity(self, buffer: np.ndarray, state: State) -> np.ndarray:
        with quiet():
            return buffer.dtype.type(self.momentum) * state["velocity"] + buffer
