"""The benchmark of reductions: reproducible sums against plain ones, on more and more ranks."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ..contracts.reduction import DTYPES
from ..errors import Deep500Error, Wrong, unknown
from .benchmark import Benchmark, Job, Subject, check_distinct, combinations, factor
from .reductions.sums import PLAIN, local_sum, rank_numbers, reduction_of

MOST_RANKS = 64
ALGORITHMS = (
    "np.sum",
    "simd",
    "FixedPoint()",
    "PreRounded(1)",
    "PreRounded(2)",
    "PreRounded(3)",
    "PreRounded(2, sweeps=1)",
    "FixedTree()",
)


class ReductionJob(Job):
    """Sums of so many numbers on every rank, by one algorithm."""

    algorithm: str
    ranks: int
    length: int
    dtype: str
    repeats: int

    def name(self, result: Mapping[str, Any]) -> str:
        return f"{self.algorithm} ranks={self.ranks}"

    @property
    def levels(self) -> dict[str, Any]:
        return {"ranks": self.ranks, "length": self.length, "dtype": self.dtype}

    @property
    def place(self) -> tuple[Any, ...]:
        return self.dtype, self.length, self.ranks

    def work(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        numbers = self.length * self.ranks * self.repeats
        return {
            "bytes": numbers * np.dtype(self.dtype).itemsize,
            "error": facts["error"],
        }

    def subject(self) -> "ReductionSubject":
        return ReductionSubject(self)


class ReductionSubject(Subject):
    """`repeats` sums in a row: in this process, or on ranks over MPI that this process asks for them."""

    arguments = ()

    def __init__(self, job: ReductionJob):
        self.job = job
        if job.ranks > 1:
            from .reductions.ranked import RankedSums

            ranked = RankedSums(
                job.algorithm, job.ranks, job.length, job.dtype, job.repeats
            )
            self.run = ranked.sums
            return
        values = rank_numbers(job.length, job.dtype, 0)
        total = local_sum(job.algorithm)

        def run() -> float:
            result = 0.0
            for _ in range(job.repeats):
                result = total(values)
            return result

        self.run = run

    def check(self) -> None:
        total, values = self.run(), self._numbers()
        exact = math.fsum(values.tolist())
        self.error = abs(total - exact)
        if self.error > self._bound(values):
            raise Wrong(
                f"the sum by {self.job.algorithm} is {self.error:.3g} off, more than its bound"
            )
        is_plain = self.job.algorithm in PLAIN
        if not is_plain and total != reduction_of(self.job.algorithm).sum(values):
            raise Wrong(
                f"{self.job.algorithm} gives other bits on {self.job.ranks} ranks than on one"
            )

    def facts(self) -> dict[str, Any]:
        return {"error": self.error}

    def _numbers(self) -> np.ndarray:
        """Those of all ranks."""
        job = self.job
        parts = [rank_numbers(job.length, job.dtype, rank) for rank in range(job.ranks)]
        return np.concatenate(parts)

    def _bound(self, values: np.ndarray) -> float:
        if self.job.algorithm not in PLAIN:
            return reduction_of(self.job.algorithm).bound(values)
        rounding = np.finfo(values.dtype).eps * values.size
        return float(np.abs(values).sum(dtype=np.float64) * rounding)


class ReductionBenchmark(Benchmark):
    """what sums with the same bits for any order and number of ranks cost, beside plain sums"""

    least_timeout_s: ClassVar[float] = 120.0

    algorithm: tuple[str, ...] = factor(
        ALGORITHMS, "np.sum, simd, and reductions as text, such as 'PreRounded(2)'"
    )
    ranks: tuple[int, ...] = factor(
        (1, 2), "how many ranks (over MPI, from 2 on), each with so many numbers"
    )
    length: tuple[int, ...] = factor((1 << 20,), "numbers of every rank")
    dtype: tuple[str, ...] = factor(("float64",), "float32, float64")
    repeats: int = factor(8, "sums in a row that are timed together")

    def __post_init__(self) -> None:
        super().__post_init__()
        for algorithm in self.algorithm:
            if algorithm not in PLAIN:
                reduction_of(algorithm)
        for dtype in self.dtype:
            if dtype not in DTYPES:
                raise unknown("dtype", dtype, DTYPES)
        for name in ("algorithm", "ranks", "length", "dtype"):
            check_distinct(f"--{name}", getattr(self, name))
        for ranks in self.ranks:
            if not 1 <= ranks <= MOST_RANKS:
                raise Deep500Error(f"--ranks {ranks}: give 1 to {MOST_RANKS}")
        for length in self.length:
            if not 1 <= length <= 1 << 27:
                raise Deep500Error(f"--length {length}: give 1 to {1 << 27}")
        if not 1 <= self.repeats <= 1000:
            raise Deep500Error(f"--repeats {self.repeats}: give 1 to 1000")

    def jobs(self) -> list[ReductionJob]:
        every = combinations(
            dtype=self.dtype,
            length=self.length,
            ranks=self.ranks,
            algorithm=self.algorithm,
        )
        return [ReductionJob(**levels, repeats=self.repeats) for levels in every]

    @property
    def busy_threads(self) -> int:
        return max(self.ranks)
