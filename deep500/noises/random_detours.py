"""Detours at random moments, of random lengths."""

from ..contracts.noise import NANO, Detours, Noise


class RandomDetours(Noise):
    """Detours behind `every` seconds of work, exponentially distributed, that take `lasting` seconds on average.

    `tail` says how their lengths are distributed: 0 all alike, 1 exponential, above 1 the exponent of a Pareto
    distribution (2.5 has rare long ones).
    """

    every: float = 1e-2
    lasting: float = 2.5e-5
    tail: float = 1.0
    together: bool = False

    def detours(self) -> Detours:
        return Detours(
            every=self.every * NANO,
            lasting=self.lasting * NANO,
            shape=self.tail,
            together=self.together,
        )
