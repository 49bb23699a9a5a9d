"""The benchmark of reductions refuses what makes no sense, and finds sums that are wrong."""

from typing import Any

import pytest

from deep500.bench import reduction_benchmark
from deep500.bench.reduction_benchmark import ReductionBenchmark, ReductionJob
from deep500.errors import Deep500Error, Wrong


def job(**changes: Any) -> ReductionJob:
    settings = {"algorithm": "FixedPoint()", "ranks": 1, "length": 500, "repeats": 2}
    return ReductionJob(**{**settings, "dtype": "float32", **changes})


def test_every_algorithm_is_right() -> None:
    for job in ReductionBenchmark(ranks=(1,), length=(500,)).jobs():
        subject = job.subject()
        subject.check()
        assert subject.facts()["error"] < 1e-6
        assert job.work(subject.facts())["bytes"] == 8 * 500 * 8


def test_a_wrong_sum_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = reduction_benchmark.local_sum
    monkeypatch.setattr(
        reduction_benchmark,
        "local_sum",
        lambda algorithm: lambda values: real(algorithm)(values[1:]),
    )
    for algorithm in ("np.sum", "PreRounded(2)"):
        with pytest.raises(Wrong, match="more than its bound"):
            job(algorithm=algorithm).subject().check()


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["simd", "PreRounded(2)", "FixedTree()"])
def test_ranks_over_mpi(algorithm: str) -> None:
    job(algorithm=algorithm, ranks=3).subject().check()


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        ({"ranks": (0,)}, "--ranks 0: give 1 to 64"),
        ({"dtype": ("int8",)}, "no dtype is named 'int8'|No dtype named 'int8'"),
        ({"algorithm": ("FixdPoint()",)}, "Did you mean"),
        ({"algorithm": ("simd", "simd")}, "give each once"),
        ({"length": (0,)}, "--length 0"),
        ({"repeats": 0}, "--repeats 0"),
    ],
)
def test_bad_factors(factors: dict[str, Any], message: str) -> None:
    with pytest.raises(Deep500Error, match=message):
        ReductionBenchmark(**factors)
