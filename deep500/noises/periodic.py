"""Detours at equal distances, such as the ticks of a timer."""

import numpy as np

from ..contracts.noise import NANO, Detours, Noise


class Periodic(Noise):
    """A detour of `lasting` seconds every so many; every host begins at another moment, unless all do it `together`."""

    every: float = 1e-2
    lasting: float = 2.5e-5
    together: bool = False

    def detours(self) -> Detours:
        period, length = round(self.every * NANO), round(self.lasting * NANO)
        return Detours(
            np.array([0], np.int64),
            np.array([length], np.int64),
            max(period, 1),
            together=self.together,
        )
