"""Heat conduction along a rod: the temperatures at the start, and those some time later."""

import numpy as np

from ..contracts.dataset import Dataset, Split
from ..errors import Deep500Error
from ._random_bits import RandomBits, fifths


class HeatEquation(Dataset):
    """Temperatures along a rod at the start and at `time`: the solution of a partial differential equation to learn.

    u_t = diffusivity u_xx on a rod of length 1 whose ends are kept at 0, solved by Crank-Nicolson steps, of second
    order in space and time. "x" are the temperatures at the start, at `points` points between the ends: a sum of
    `modes` sine waves with random amplitudes, smaller for shorter waves. "target" are those at `time`.
    """

    size: int = 1000
    points: int = 63
    modes: int = 6
    diffusivity: float = 0.01
    time: float = 1.0
    steps: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.modes <= self.points or self.steps < 1:
            raise Deep500Error(
                f"modes is {self.modes}, points is {self.points} and steps is {self.steps}: there are as "
                "many modes as points at most, and 1 of each at least"
            )
        if not (self.diffusivity > 0 and self.time > 0):
            raise Deep500Error(
                f"diffusivity is {self.diffusivity} and time is {self.time}: both are above 0"
            )

    def load(self) -> dict[str, Split]:
        parts = fifths(self.size)
        start = self.amplitudes() @ self.waves()
        end = self.solve(start)
        splits: dict[str, Split] = {}
        for name, rows in parts.items():
            inputs = start[rows].astype("float32")
            outputs = end[rows].astype("float32")
            splits[name] = Split({"x": inputs, "target": outputs})
        return splits

    def amplitudes(self) -> np.ndarray:
        """The amplitudes of the sine waves of each example: (size, modes)."""
        numbers = RandomBits(self.seed).uniform(self.size, self.modes)
        return numbers / np.arange(1, self.modes + 1)

    def waves(self) -> np.ndarray:
        """sin(k π x) at the points, for k from 1: (modes, points)."""
        positions = np.arange(1, self.points + 1) / (self.points + 1)
        wave_numbers = np.arange(1, self.modes + 1)
        return np.sin(np.pi * np.outer(wave_numbers, positions))

    def solve(self, start: np.ndarray) -> np.ndarray:
        """The temperatures at `time`, in float64."""
        step = self.time / self.steps
        distance = 1 / (self.points + 1)
        ratio = self.diffusivity * step / distance**2 / 2
        identity = np.eye(self.points)
        neighbours = np.eye(self.points, k=1) + np.eye(self.points, k=-1)
        laplacian = neighbours - 2 * identity
        implicit = identity - ratio * laplacian
        explicit = identity + ratio * laplacian
        one_step = np.linalg.solve(implicit, explicit)
        all_steps = np.linalg.matrix_power(one_step, self.steps)
        # the matrix is symmetric, so that rows may stand on its left
        return start @ all_steps
