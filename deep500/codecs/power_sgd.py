"""Low-rank factors of every matrix, by one step of power iteration (Vogels et al., PowerSGD, 2019)."""

from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from ..contracts.codec import (
    AverageRequest,
    Codec,
    Exchange,
    Key,
    Request,
    State,
    quiet,
)
from ..contracts.layout import Slot
from ..errors import Deep500Error
from ._matrices import (
    Division,
    Matrix,
    divide,
    nearly_square,
    nearly_square_shape,
)
from ._random import uniform


class PowerSGD(Codec):
    """A matrix M as P Qᵀ with `rank` columns each: P = M Q, made orthonormal; then Q = Mᵀ P.

    Both are averaged over the ranks, and Q is the start of the next step. Tensors of one
    axis, and matrices that would not become smaller by `min_rate`, are averaged as they
    are. `encode` sees the whole buffer as one nearly square matrix.
    """

    rank: int = 2
    min_rate: float = 1.0

    # sums of P, and of Q for the same P, are those of the sum of the matrices
    linear = True
    error_feedback = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rank < 1:
            raise Deep500Error(f"rank of PowerSGD is {self.rank}: give 1 or more")
        if not self.min_rate >= 0:
            raise Deep500Error(
                f"min_rate of PowerSGD is {self.min_rate}: give 0 or more"
            )

    def encode(self, x: np.ndarray, key: Key) -> np.ndarray:
        matrix = nearly_square(x)
        rows, columns = matrix.shape
        rank = self._rank(rows, columns)
        half = x.dtype.type(0.5)
        start = uniform(key.shared_words(), columns * rank, x.dtype) - half
        with quiet():
            left = orthonormal(matrix @ start.reshape(columns, rank))
            right = matrix.T @ left
        factors = np.concatenate([left.reshape(-1), right.reshape(-1)])
        return factors.view(np.uint8)

    def decode(self, payload: np.ndarray, size: int, dtype: Any) -> np.ndarray:
        self.check_payload(payload, size, dtype)
        rows, columns = nearly_square_shape(size)
        rank = self._rank(rows, columns)
        factors = payload.view(dtype)
        left = factors[: rows * rank].reshape(rows, rank)
        right = factors[rows * rank :].reshape(columns, rank)
        with quiet():
            return (left @ right.T).reshape(-1)[:size].copy()

    def wire_bytes(self, size: int, dtype: Any = "float32") -> int:
        rows, columns = nearly_square_shape(size)
        return (rows + columns) * self._rank(rows, columns) * np.dtype(dtype).itemsize

    def aggregate_bytes(
        self, size: int, dtype: Any = "float32", slots: Sequence[Slot] = ()
    ) -> int:
        division = self._division(size, slots)
        elements = division.dense_size
        for matrix in division.matrices:
            elements += (matrix.rows + matrix.columns) * self._rank_of(matrix)
        return elements * np.dtype(dtype).itemsize

    def init(self, size: int, dtype: Any, slots: Sequence[Slot] = ()) -> State:
        state = super().init(size, dtype, slots)
        half = np.dtype(dtype).type(0.5)
        for matrix in self._division(size, slots).matrices:
            shape = matrix.columns, self._rank_of(matrix)
            words = Key(tensor=matrix.name).shared_words()
            start = uniform(words, shape[0] * shape[1], dtype) - half
            state[f"q.{matrix.name}"] = start.reshape(shape)
        return state

    def exchange(
        self, x: np.ndarray, state: State, key: Key, slots: Sequence[Slot]
    ) -> Generator[Request, Any, Exchange]:
        division = self._division(x.size, slots)
        matrices = division.matrices
        with quiet():
            lefts = [matrix.of(x) @ state[f"q.{matrix.name}"] for matrix in matrices]
        first = yield AverageRequest(
            _joined([*lefts, *division.dense_values(x)], x.dtype)
        )
        means, dense = _cut(first, [left.shape for left in lefts])
        lefts = [orthonormal(mean) for mean in means]
        with quiet():
            rights = [m.of(x).T @ left for m, left in zip(matrices, lefts, strict=True)]
        averages = rights
        if matrices:
            second = yield AverageRequest(_joined(rights, x.dtype))
            averages, _ = _cut(second, [right.shape for right in rights])
        return self._outcome(x, division, lefts, rights, averages, dense)

    def _outcome(
        self,
        x: np.ndarray,
        division: Division,
        lefts: list[np.ndarray],
        rights: list[np.ndarray],
        averages: list[np.ndarray],
        dense: np.ndarray,
    ) -> Exchange:
        mean, residual = np.zeros_like(x), np.zeros_like(x)
        memory: State = {}
        for number, matrix in enumerate(division.matrices):
            left, right, average = (
                lefts[number],
                rights[number],
                averages[number],
            )
            with quiet():
                np.matmul(left, average.T, out=matrix.of(mean))
                np.matmul(left, right.T, out=matrix.of(residual))
                np.subtract(matrix.of(x), matrix.of(residual), out=matrix.of(residual))
            memory[f"q.{matrix.name}"] = average
        division.put_dense(dense, mean)
        return Exchange(mean, residual, memory)

    def _division(self, size: int, slots: Sequence[Slot]) -> Division:
        return divide(size, slots, self._pays)

    def _pays(self, rows: int, columns: int) -> bool:
        factors = (rows + columns) * self._rank(rows, columns)
        return factors * self.min_rate < rows * columns

    def _rank(self, rows: int, columns: int) -> int:
        return min(self.rank, rows, columns)

    def _rank_of(self, matrix: Matrix) -> int:
        return self._rank(matrix.rows, matrix.columns)


def orthonormal(columns: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the columns; zeros and NaN do not make it fail."""
    if not columns.size:
        return columns
    if not np.isfinite(columns).all():
        return np.full_like(columns, np.nan)
    return np.ascontiguousarray(np.linalg.qr(columns)[0])


def _joined(arrays: Sequence[np.ndarray], dtype: Any) -> np.ndarray:
    flat = [array.reshape(-1) for array in arrays]
    return np.concatenate([np.zeros(0, dtype), *flat])


def _cut(
    flat: np.ndarray, shapes: Sequence[tuple[int, ...]]
) -> tuple[list[np.ndarray], np.ndarray]:
    """The arrays of these shapes at the beginning of a flat one, and what follows them."""
    arrays = []
    at = 0
    for shape in shapes:
        size = shape[0] * shape[1]
        arrays.append(flat[at : at + size].reshape(shape))
        at += size
    return arrays, flat[at:]
