"""The benchmark of compression: real ranks in limited networks, and what takes their place where they cannot be."""

import os
import subprocess
from typing import Any

import pytest

import deep500 as d5
from deep500.bench.compression import jobs
from deep500.bench.compression.jobs import AccuracyJob, TimesJob, TrafficJob
from deep500.bench.compression.namespaces import namespaces
from deep500.bench.compression_benchmark import SPARSE_4_BITS, CompressionBenchmark
from deep500.errors import Deep500Error, Unsupported
from deep500.results.compression.data import DENSE, HALF

SMALL: dict[str, Any] = {
    "codec": ["TopK"],
    "hidden": [16],
    "batch": 32,
    "epochs": 1,
    "seeds": 1,
}
COMMON = ((16,), 32, 2, 0)


def permitted() -> bool:
    try:
        with namespaces(1, 100.0):
            return True
    except Unsupported:
        return False


def names() -> str:
    done = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True)
    return done.stdout


def test_every_codec_is_measured_against_both_baselines() -> None:
    methods = CompressionBenchmark().methods()
    assert methods[:2] == [DENSE, HALF]
    assert f"AllReduce(codec={SPARSE_4_BITS})" in methods
    assert "AllReduce(codec=QSGD())" in methods


def test_traffic_is_that_of_the_codec(monkeypatch) -> None:
    monkeypatch.setattr(jobs, "COUNTS", (2, 4))
    found = TrafficJob((DENSE,), *COMMON).measured().traffic
    by_ranks = {one.ranks: one.bytes for one in found.by_ranks}
    dense = by_ranks[2]
    # an allreduce sends 2 n (P - 1) / P
    assert by_ranks[4] == pytest.approx(1.5 * dense, rel=0.01)
    half = TrafficJob((HALF,), *COMMON).measured().traffic
    assert half.by_ranks[0].bytes == pytest.approx(dense / 2, rel=0.02)


def test_accuracy_is_that_of_the_simulation() -> None:
    found = AccuracyJob((DENSE,), *COMMON, 2).measured().accuracy
    assert len(found.accuracies) == 2 and 10 < found.accuracies[1] <= 100
    assert 10 < found.test <= 100


def test_without_the_programs_one_line_says_what_to_run(monkeypatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with (
        pytest.raises(Unsupported, match="run `d5 bench compression` as root") as why,
        namespaces(2, 10.0),
    ):
        pass
    assert "\n" not in str(why.value) and "no program ip" in str(why.value)


@pytest.mark.slow
def test_namespaces_leave_nothing_behind() -> None:
    if not permitted():
        pytest.skip("network namespaces are not permitted here")
    with namespaces(2, 100.0) as places:
        assert all(place.name in names() for place in places)
    assert f"d5{os.getpid()}" not in names()


@pytest.mark.slow
def test_a_slow_network_is_slow_and_its_bytes_are_counted() -> None:
    if not permitted():
        pytest.skip("network namespaces are not permitted here")
    job = TimesJob((DENSE,), (512, 384), 32, 2, 0, 20.0, 0, 1, 0.1, True)
    times = job.measured().times
    [row] = times.rows
    nbytes = max(row.counted)
    # a bucket of tokens is full at the beginning
    least = 0.8 * 8e-6 * nbytes / 20
    assert min(map(max, row.seconds)) > least
    assert 1.0 < max(row.wire) / nbytes < 1.15
    assert times.gap == pytest.approx(8e-6 / 20, rel=0.25)


@pytest.mark.slow
def test_the_whole_benchmark(tmp_path) -> None:
    record = d5.run_benchmark(
        CompressionBenchmark(
            bandwidth=(50.0, 500.0), ranks=2, launches=1, seconds=0.1, **SMALL
        ),
        out=tmp_path / "out",
    )
    methods = {(one.method, one.bandwidth) for one in record.derived.methods}
    assert ("AllReduce(codec=TopK())", 50.0) in methods
    assert record.derived.break_evens
    assert d5.verify(tmp_path / "out").ok


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bandwidth": [-1.0]}, "--bandwidth -1: give 0.01"),
        ({"bandwidth": [10.0, 10.0]}, "give each once"),
        ({"ranks": 1}, "--ranks 1: give 2 to 64"),
        ({"batch": 2}, "--batch 2 for 4 ranks"),
        ({"codec": ["TopKK"]}, "Did you mean 'TopK'"),
        ({"scheme": ["Nothing()"]}, "Nothing"),
        ({"launches": 0}, "--launches 0"),
        ({"seconds": 0.0}, "--seconds 0"),
    ],
)
def test_bad_requests(settings: dict, message: str) -> None:
    with pytest.raises(Deep500Error, match=message) as raised:
        CompressionBenchmark(**settings)
    assert "\n" not in str(raised.value)
