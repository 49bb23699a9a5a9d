"""The roofline of a device is the device's own: measured on it, by dtype, and nothing may be faster."""

import time
from types import SimpleNamespace
from typing import Any

import pytest

from deep500.bench import operator_benchmark
from deep500.bench.notes import Notes
from deep500.bench.operator_benchmark import OperatorBenchmark
from deep500.bench.operators import device_peaks
from deep500.bench.operators.jobs import BenchProblem
from deep500.errors import Wrong
from deep500.frameworks import framework
from deep500.frameworks.pytorch import devices
from deep500.measure.bounds.peak_cache import Peaks
from deep500.measure.bounds.peak_kernels import Peak
from deep500.measure.numbers import Rate, Rates, RooflineShare
from deep500.testing import simulated_device

SIM = "pytorch@sim:0"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_peaks, "SIZES", (64,))
    monkeypatch.setattr(device_peaks, "MIB", 1 << 10)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_peak_is_timed_until_the_device_is_done(dtype: str) -> None:
    fw = framework(SIM)
    with simulated_device.latency(0.002):
        peak = device_peaks.product_peak(fw, dtype, seconds=0.01)
    assert peak.n >= device_peaks.ENOUGH and dtype in peak.what
    assert 0 < peak.value <= 2 * 64**3 / 0.002


def test_the_memory_is_counted_as_two_reads_and_a_write() -> None:
    with simulated_device.latency(0.002):
        peak = device_peaks.memory_peak(framework(SIM), seconds=0.01)
    assert 0 < peak.value <= 3 * 256 * 1024 / 0.002


def test_tf32_is_a_peak_of_its_own_and_ends_with_its_block() -> None:
    torch = framework("pytorch").module
    before = torch.get_float32_matmul_precision()
    with devices.tf32():
        assert torch.get_float32_matmul_precision() == "high"
    assert torch.get_float32_matmul_precision() == before
    assert framework(SIM).reduced_products() is None


def peaks_of(**flops: float) -> Peaks:
    found = {name: Peak(value, "flop/s", name) for name, value in flops.items()}
    return Peaks(found, Peak(1e9, "B/s", "memory"), {})


def test_what_is_faster_than_its_device_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    forgotten: list[str] = []
    monkeypatch.setattr(operator_benchmark, "refute_device_peaks", forgotten.append)
    share = RooflineShare(2.0, 1.9, 2.1, "compute", "above a peak")
    entry = SimpleNamespace(
        name="fast", rates=Rates(Rate(3e12, 3e12, 3e12), None, share)
    )
    planned = SimpleNamespace(work={"dtype": "float32", "framework": SIM})
    benchmark = OperatorBenchmark(
        (BenchProblem("MatMul", {}, "8x8,8x8"),), frameworks=(SIM,)
    )

    def finish(peaks: Peaks) -> None:
        about = SimpleNamespace(device_peaks={SIM: peaks.to_json()})
        plan = SimpleNamespace(entries=[planned], about=about)
        record: Any = SimpleNamespace(
            derived=SimpleNamespace(entries=[entry]), plan=plan
        )
        benchmark.finished(record, Notes())

    # products of float32 may be rounded to TF32, and those of float16 are none of float32
    finish(peaks_of(float32=1e12, tf32=3e12, float16=1e10))
    with pytest.raises(Wrong, match="'fast' is faster than its device: 3000 GFLOP/s"):
        finish(peaks_of(float32=1e12, float16=9e12))
    assert forgotten == [SIM]


@pytest.mark.slow
def test_peaks_are_measured_in_a_process_of_their_own_and_kept(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path))
    device_peaks._place.cache_clear()
    first = device_peaks.device_peaks(SIM)
    assert {"float64", "float32", "float16", "bfloat16"} <= first.flops.keys()
    began = time.monotonic()
    assert device_peaks.device_peaks(SIM) == first
    assert time.monotonic() - began < device_peaks.SECONDS * len(first.flops)
    device_peaks._place.cache_clear()
