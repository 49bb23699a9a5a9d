"""The factors of a fully connected layer's gradient in place of the gradient itself."""

from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from ..contracts.codec import (
    Codec,
    Exchange,
    GatherRequest,
    Key,
    Request,
    State,
    quiet,
)
from ..contracts.layout import Slot
from ..errors import Deep500Error
from ._matrices import Division, divide
from ._random import uniform
from .power_sgd import orthonormal

TOLERANCE = 1e-3  # of the norm: a gradient of higher rank misses by far more
PASSES = 3  # projections before a gradient is refused; almost always one is enough


class Factors(Codec):
    """A weight gradient is Uᵀ V, with one row of U (errors) and of V (inputs) per example.

    It is sent as two matrices of `batch` rows where that is less: see `break_even`. The
    factors are found from the gradient (its range, by a random projection), so no framework
    has to give them. A gradient of a higher rank than `batch` is refused: something was
    added to it, such as weight decay, or it is no gradient of a fully connected layer.
    """

    batch: int = 32

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch < 1:
            raise Deep500Error(f"batch of Factors is {self.batch}: give 1 or more")

    unbiased = True
    variance = TOLERANCE**2
    contraction = 1 - TOLERANCE**2

    @staticmethod
    def break_even(outputs: int, inputs: int) -> float:
        """The batch size at which the factors of such a layer are as large as its gradient."""
        return outputs * inputs / (outputs + inputs)

    def encode(self, x: np.ndarray, key: Key) -> np.ndarray:
        """A buffer without shapes has no factors: its bytes."""
        return x.copy().view(np.uint8)

    def decode(self, payload: np.ndarray, size: int, dtype: Any) -> np.ndarray:
        self.check_payload(payload, size, dtype)
        return payload.view(dtype).copy()

    def wire_bytes(self, size: int, dtype: Any = "float32") -> int:
        return size * np.dtype(dtype).itemsize

    def aggregate_bytes(
        self, size: int, dtype: Any = "float32", slots: Sequence[Slot] = ()
    ) -> int:
        division = self._division(size, slots)
        elements = division.dense_size
        for matrix in division.matrices:
            elements += (matrix.rows + matrix.columns) * self.batch
        return elements * np.dtype(dtype).itemsize

    def exchange(
        self, x: np.ndarray, state: State, key: Key, slots: Sequence[Slot]
    ) -> Generator[Request, Any, Exchange]:
        division = self._division(x.size, slots)
        payloads = yield GatherRequest(self.encode_factors(x, division, key))
        mean = np.zeros_like(x)
        for payload in payloads:
            self._add(payload, division, mean)
        mean /= x.dtype.type(len(payloads))
        return Exchange(mean, x)

    def encode_factors(self, x: np.ndarray, division: Division, key: Key) -> np.ndarray:
        parts = [np.zeros(0, x.dtype), *division.dense_values(x)]
        for matrix in division.matrices:
            left, right = self._factorised(matrix.name, matrix.of(x), key)
            parts += [left.reshape(-1), right.reshape(-1)]
        return np.concatenate(parts).view(np.uint8)

    def _factorised(
        self, name: str, gradient: np.ndarray, key: Key
    ) -> tuple[np.ndarray, np.ndarray]:
        """The range of the gradient, and the gradient in terms of it.

        A random projection may be unlucky: nearly parallel columns lose a part of the range to rounding. Projecting
        on the rows of what was found brings it back.
        """
        shape = gradient.shape[1], self.batch
        draws = uniform(key.shared_words(), shape[0] * shape[1], gradient.dtype)
        projection = (draws - gradient.dtype.type(0.5)).reshape(shape)
        for _ in range(PASSES):
            with quiet():
                basis = orthonormal(gradient @ projection)
                coordinates = basis.T @ gradient
                missing = np.linalg.norm(gradient - basis @ coordinates)
                allowed = TOLERANCE * np.linalg.norm(gradient)
            if not missing > allowed:
                return basis, coordinates
            projection = coordinates.T
        raise Deep500Error(
            f"the gradient of {name} has a higher rank than the {self.batch} rows of "
            "Factors: give the batch of one rank, and add weight decay in the optimizer"
        )

    def _add(self, payload: np.ndarray, division: Division, total: np.ndarray) -> None:
        values = payload.view(total.dtype)
        dense = np.zeros_like(total)
        division.put_dense(values[: division.dense_size], dense)
        total += dense
        at = division.dense_size
        for matrix in division.matrices:
            middle = at + matrix.rows * self.batch
            end = middle + matrix.columns * self.batch
            left = values[at:middle].reshape(matrix.rows, self.batch)
            right = values[middle:end].reshape(self.batch, matrix.columns)
            with quiet():
                product = matrix.of(total)
                product += left @ right
            at = end

    def _division(self, size: int, slots: Sequence[Slot]) -> Division:
        return divide(size, slots, self._pays, most_axes=2)

    def _pays(self, rows: int, columns: int) -> bool:
        return self.batch < self.break_even(rows, columns)
