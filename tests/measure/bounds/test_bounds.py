"""Peaks, the roofline over them and its alarm, scaling lines and their warning."""

import dataclasses
import json
import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep500.errors import Deep500Error, Unsupported
from deep500.measure.bounds import roofline as bounds
from deep500.measure.bounds.peak_cache import (
    Peaks,
    better,
    contradiction,
    file_name,
    read_peaks,
    this_machine,
    write_peaks,
)
from deep500.measure.bounds.peak_kernels import Peak
from deep500.measure.bounds.roofline import (
    kept_peaks,
    peaks,
    refute_peak,
    roofline,
    scaling_lines,
)

SECONDS = 0.6
KNOWN = Peaks(
    {
        "float32": Peak(
            1e11, "flop/s", "matmul of 512 x 512 float32", 9, 9.9e10, 9.8e10, 1e11
        )
    },
    Peak(
        2e10, "B/s", "copy over arrays of 64 MiB in 2 threads", 9, 1.9e10, 1.8e10, 2e10
    ),
    {},
)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Peaks:
    """One short measurement of this machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEEP500_HOME", str(tmp_path_factory.mktemp("peaks")))
        return peaks(_seconds=SECONDS)


def all_peaks(found: Peaks) -> list[Peak]:
    return [*found.flops.values(), found.bandwidth]


def test_a_peak_is_the_best_with_the_usual_beside_it(measured: Peaks) -> None:
    assert set(measured.flops) == {"float32", "float64"}
    for peak in all_peaks(measured):
        assert peak.n >= 6 and 0 < peak.median <= peak.value < 1e18
        assert (
            peak.low is None and "no interval" in peak.note
        ) or peak.low <= peak.median <= peak.high <= peak.value
        assert 0.05 <= peak.uncertainty <= 0.5
    assert [peak.unit for peak in all_peaks(measured)] == ["flop/s", "flop/s", "B/s"]
    assert (
        measured.flops["float64"].what.startswith("matmul of ")
        and "float64" in measured.flops["float64"].what
    )
    assert (
        measured.bandwidth.what.split()[0] in ("copy", "add", "triad")
        and "MiB" in measured.bandwidth.what
    )


def test_peaks_say_what_they_hold_for(measured: Peaks) -> None:
    assert measured.machine["numpy"] == np.__version__
    assert measured.machine["cpus allowed"] == str(len(os.sched_getaffinity(0)))
    assert {"cpu", "blas", "OMP_NUM_THREADS"} <= set(measured.machine)


def test_a_claim_of_twice_the_peak_is_an_alarm_and_an_honest_one_is_not(
    measured: Peaks,
) -> None:
    flops, peak = 1e12, measured.flops["float32"]
    for rate in (peak.median, peak.value):  # those were real products
        honest = roofline(flops, 1e3, flops / rate, peaks=measured)
        assert honest.fraction <= 1 + 1e-9 and honest.alarm is None
    claimed = roofline(flops, 1e3, flops / (2 * peak.value), peaks=measured)
    assert claimed.fraction == pytest.approx(2) and claimed.alarm is not None
    assert (
        "above a physical peak" in claimed.alarm
        and "check the count of flops" in claimed.alarm
    )


def test_roofline_of_known_peaks() -> None:
    computing = roofline(1e11, 1e9, 2.0, peaks=KNOWN)
    assert (computing.intensity, computing.bound_flops, computing.limited_by) == (
        100.0,
        1e11,
        "compute",
    )
    assert (computing.minimum_seconds, computing.fraction, computing.alarm) == (
        1.0,
        0.5,
        None,
    )
    moving = roofline(1e9, 2e10, peaks=KNOWN)
    assert (moving.intensity, moving.bound_flops, moving.limited_by) == (
        0.05,
        1e9,
        "memory",
    )
    assert (moving.minimum_seconds, moving.fraction, moving.alarm) == (1.0, None, None)
    assert roofline(1e11, 0, peaks=KNOWN).intensity == math.inf
    assert roofline(0, 2e10, 4.0, peaks=KNOWN).fraction == 0.25
    too_fast = roofline(0, 2e10, 0.1, peaks=KNOWN)
    assert (
        "2e+11 B/s is 10.00 x the 2e+10 of copy" in too_fast.alarm
        and "in a cache" in too_fast.alarm
    )


def test_the_alarm_tolerates_the_noise_of_the_peak_itself() -> None:
    assert roofline(1e11, 0, 1 / 1.04, peaks=KNOWN).alarm is None
    assert roofline(1e11, 0, 1 / 1.06, peaks=KNOWN).alarm is not None
    noisy = dataclasses.replace(KNOWN.flops["float32"], median=8e10)
    noisy_peaks = dataclasses.replace(
        KNOWN, flops={"float32": noisy}, note="others used 60% of the CPUs"
    )
    assert roofline(1e11, 0, 1 / 1.24, peaks=noisy_peaks).alarm is None
    assert "others used 60%" in roofline(1e11, 0, 1 / 1.26, peaks=noisy_peaks).alarm


@given(st.floats(0, 1e18), st.floats(1e-3, 1e18))
def test_the_bound_is_the_lower_roof(flops: float, moved: float) -> None:
    found = roofline(flops, moved, peaks=KNOWN)
    assert found.bound_flops == pytest.approx(
        min(1e11, found.intensity * 2e10), rel=1e-9
    )
    if flops > 1e-3:
        assert found.minimum_seconds * found.bound_flops == pytest.approx(
            flops, rel=1e-9
        )
    assert roofline(flops, moved, found.minimum_seconds, peaks=KNOWN).alarm is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((-1, 1), "flops is -1"),
        ((math.nan, 1), "flops is nan"),
        ((1, math.inf), "bytes_moved is inf"),
        ((0, 0), "no work"),
        ((1, 1, 0), "seconds is 0"),
        ((1, 1, math.nan), "seconds is nan"),
        ((1, 1, 1, "int8"), "no peak for 'int8'.*float32"),
    ],
)
def test_bad_work_is_one_clear_line(arguments, words) -> None:
    with pytest.raises(Deep500Error, match=words) as error:
        roofline(*arguments, peaks=KNOWN)  # type: ignore[misc]
    assert "\n" not in str(error.value)
    assert isinstance(error.value, Unsupported) == ("int8" in arguments)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path))
    return tmp_path / "peaks" / file_name(this_machine(SECONDS))


@pytest.fixture
def measurements(measured: Peaks, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Counts the measurements, and answers with the one of this module."""
    made: list[float] = []

    def measure(machine: dict[str, str], seconds: float) -> Peaks:
        made.append(seconds)
        return dataclasses.replace(measured, machine=machine)

    monkeypatch.setattr(bounds, "_measure", measure)
    # no moment is better than another
    monkeypatch.setattr(bounds, "others_now", lambda: None)
    return made


def test_peaks_are_kept_and_read_again(cache: Path, measurements: list[float]) -> None:
    first = peaks(_seconds=SECONDS)
    assert peaks(_seconds=SECONDS) == first and len(measurements) == 1
    # nothing temporary stays
    assert [path.name for path in cache.parent.iterdir()] == [cache.name]
    assert json.loads(cache.read_text())["machine"] == first.machine
    peaks(refresh=True, _seconds=SECONDS)
    assert len(measurements) == 2


def test_other_threads_or_another_time_are_measured_anew(
    cache: Path, measurements: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    peaks(_seconds=SECONDS)
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert peaks(_seconds=SECONDS).machine["OMP_NUM_THREADS"] == "7"
    peaks(_seconds=2 * SECONDS)
    assert measurements == [SECONDS, SECONDS, 2 * SECONDS]


def damage(data: dict, name: str) -> object:
    match name:
        case "another machine":
            data["machine"]["cpu"] = "abacus"
        case "infinite":
            data["bandwidth"]["value"] = 1e999
        case "negative":
            data["flops"]["float32"]["value"] = -1.0
        case "text for a number":
            data["flops"]["float32"]["median"] = "fast"
        case "no bandwidth":
            del data["bandwidth"]
        case "list for a dictionary":
            data["flops"] = [1]
        case "number for text":
            data["bandwidth"]["what"] = 3
        case "best below the median":
            data["bandwidth"]["median"] = 2 * data["bandwidth"]["value"]
        case "more than all CPUs":
            data["bandwidth"]["others"] = 1.5
        case "a list":
            return [data]
    return data


DAMAGES = ["another machine", "infinite", "negative", "text for a number", "no bandwidth",
           "list for a dictionary", "number for text", "best below the median", "more than all CPUs",
           "a list"]  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_cache_is_measured_again(
    cache: Path, measurements: list[float], name: str
) -> None:
    first = peaks(_seconds=SECONDS)
    cache.write_text(json.dumps(damage(json.loads(cache.read_text()), name)))
    assert peaks(_seconds=SECONDS) == first and len(measurements) == 2
    assert read_peaks(cache, first.machine) == first


@pytest.mark.parametrize(
    "data", [b"", b"{", b"\xff\xfe", b"null", b"[" * 50_000, b'{"machine": 1e400}']
)
def test_a_corrupted_cache_is_measured_again(
    cache: Path, measurements: list[float], data: bytes
) -> None:
    cache.parent.mkdir()
    cache.write_bytes(data)
    assert read_peaks(cache, peaks(_seconds=SECONDS).machine) is not None
    assert len(measurements) == 1


def test_a_cache_that_cannot_be_written_is_no_error(
    tmp_path: Path, measurements: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    monkeypatch.setenv("DEEP500_HOME", str(blocked))
    found = peaks(_seconds=SECONDS)
    assert "not kept: " in found.note and len(found.flops) == 2
    assert blocked.read_text() == "no folder"


def test_a_write_that_fails_leaves_the_old_file(cache: Path, measured: Peaks) -> None:
    write_peaks(cache, measured)
    broken = dataclasses.replace(
        measured, bandwidth=dataclasses.replace(measured.bandwidth, value=math.nan)
    )
    with pytest.raises(ValueError, match="JSON"):
        write_peaks(cache, broken)
    assert read_peaks(cache, measured.machine) == measured
    assert len(list(cache.parent.iterdir())) == 1


def peak_of(value: float, others: float | None = 0.0, unit: str = "flop/s") -> Peak:
    return Peak(
        value,
        unit,
        "a kernel",
        9,
        0.99 * value,
        0.98 * value,
        value,
        "",
        others,
        "then",
    )


def peaks_of(single: float, double: float, others: float | None = 0.0) -> Peaks:
    flops = {"float32": peak_of(single, others), "float64": peak_of(double, others)}
    return Peaks(flops, peak_of(2e10, others, "B/s"), {}, "then")


def test_peaks_carry_what_others_used(measured: Peaks) -> None:
    assert all(0 <= peak.others <= 1 and peak.measured for peak in all_peaks(measured))
    assert measured.others == max(peak.others for peak in all_peaks(measured))


def test_a_busy_moment_is_a_caveat_wherever_the_peak_is_used() -> None:
    quiet, busy = peaks_of(2e11, 1e11, 0.01), peaks_of(2e11, 1e11, 0.89)
    assert quiet.caveat == "" and "others used up to 89 % of the CPUs" in busy.caveat
    assert "`d5 doctor --peaks`" in roofline(1e12, 1, 1.0, peaks=busy).alarm
    assert peaks_of(2e11, 1e11, None).caveat == ""


def test_the_best_of_two_measurements_is_kept_as_of_the_quieter_moment() -> None:
    busy, quiet = peaks_of(2e9, 8e10, 0.9), peaks_of(1.6e11, 7.9e10, 0.0)
    found = better(busy, quiet)
    assert (found.flops["float32"].value, found.flops["float64"].value) == (
        1.6e11,
        8e10,
    )
    assert found.others == 0.0 and better(quiet, busy).flops == found.flops
    assert better(None, busy) is busy


def test_float32_below_float64_is_a_contradiction() -> None:
    assert "2.1 GFLOP/s in float32 contradicts 82" in contradiction(
        peaks_of(2.1e9, 8.2e10).flops
    )
    # within what noise explains
    assert contradiction(peaks_of(8e10, 8.2e10).flops) == ""
    assert contradiction({"float64": peak_of(1.0)}) == ""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path))
    return tmp_path / "peaks" / file_name(this_machine(bounds.SECONDS))


def test_a_contradiction_is_measured_again_and_else_not_accepted(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    low, high = peaks_of(2.1e9, 8.2e10, 0.9), peak_of(1.6e11)
    monkeypatch.setattr(
        bounds, "_measure", lambda machine, _: dataclasses.replace(low, machine=machine)
    )
    monkeypatch.setattr(bounds, "gemm_peak", lambda dtype, seconds: peak_of(2.2e9))
    found = peaks()
    assert list(found.flops) == ["float64"] and "contradicts" in found.note
    with pytest.raises(Unsupported, match="no peak for 'float32'.*contradicts"):
        roofline(1e9, 1, peaks=found)
    monkeypatch.setattr(bounds, "gemm_peak", lambda dtype, seconds: high)
    again = peaks()  # nobody asked for it: what is missing is measured at every use
    assert again.flops["float32"].value == 1.6e11 and again.note == ""


def test_a_better_moment_is_used(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[float] = []

    def measure(machine: dict[str, str], seconds: float) -> Peaks:
        made.append(seconds)
        value = 1e11 * len(made)
        return dataclasses.replace(
            peaks_of(2 * value, value, 0.8 / len(made)), machine=machine
        )

    monkeypatch.setattr(bounds, "_measure", measure)
    monkeypatch.setattr(bounds, "others_now", lambda: 0.9)
    assert peaks().others == 0.8
    assert peaks().others == 0.8 and len(made) == 1  # no better moment
    monkeypatch.setattr(bounds, "others_now", lambda: 0.3)
    assert peaks().flops["float64"].value == 2e11 and len(made) == 2
    assert kept_peaks() == peaks()


def test_a_kernel_that_beats_the_peak_refutes_it(home: Path) -> None:
    kept = dataclasses.replace(
        peaks_of(2e11, 1e11), machine=this_machine(bounds.SECONDS)
    )
    write_peaks(home, kept)
    assert not refute_peak("float32", 2.05e11) and not refute_peak("float16", 9e11)
    assert kept_peaks() == kept
    assert refute_peak("float32", 2.5e11)
    assert kept_peaks() is None


def test_scaling_of_the_papers_example() -> None:
    """0.2 of 20 ms are serial, so b = 0.01: Amdahl's bound is 1 / (b + (1 - b) / p)."""
    lines = scaling_lines(
        0.020, [1, 2, 8, 16, 32], serial_fraction=0.2 / 20, overhead=papers_overhead
    )
    assert lines.speedups(lines.ideal) == pytest.approx([1, 2, 8, 16, 32])
    assert lines.speedups(lines.amdahl) == pytest.approx(
        [1 / (0.01 + 0.99 / p) for p in (1, 2, 8, 16, 32)]
    )
    assert lines.speedups(lines.amdahl)[2] == pytest.approx(7.4766, abs=1e-4)
    assert lines.overhead[2] == pytest.approx(0.020 / 7.4766355 + 10e-9)
    assert lines.overhead[4] == pytest.approx(0.020 * (0.01 + 0.99 / 32) + 0.17e-3 * 5)


def papers_overhead(p: int) -> float:
    """The reduction measured in the paper: 10 ns up to 8 processes, then 0.1 and 0.17 ms times log2 p."""
    return 10e-9 if p <= 8 else (0.1e-3 if p <= 16 else 0.17e-3) * math.log2(p)


@given(
    st.floats(1e-6, 1e6),
    st.floats(0, 1),
    st.lists(st.integers(1, 10**6), min_size=1, max_size=8),
)
def test_each_line_bounds_the_next(
    base: float, serial: float, processes: list[int]
) -> None:
    lines = scaling_lines(base, processes, serial, overhead=lambda p: 1e-6 * p)
    for ideal, amdahl, overhead in zip(
        lines.ideal, lines.amdahl, lines.overhead, strict=True
    ):
        assert ideal <= amdahl * (1 + 1e-12) <= overhead * (1 + 1e-12)
        assert amdahl <= base * (1 + 1e-12)
    assert scaling_lines(base, processes).amdahl == pytest.approx(lines.ideal)
    assert scaling_lines(base, processes).overhead is None
    assert lines.superlinear(lines.ideal) is None


def test_superlinear_speedup_is_a_warning() -> None:
    lines = scaling_lines(1.0, [1, 2, 4])
    assert lines.superlinear([1.0, 0.52, 0.25]) is None
    assert lines.superlinear([1.0, 0.5, 0.24]) is None  # within the noise
    warning = lines.superlinear([1.0, 0.5, 0.2])
    assert (
        warning is not None
        and "5.00 x with 4" in warning
        and "check the base case" in warning
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: scaling_lines(0, [1]), "base_seconds is 0"),
        (lambda: scaling_lines(math.nan, [1]), "base_seconds is nan"),
        (lambda: scaling_lines(1, []), "processes is"),
        (lambda: scaling_lines(1, [0]), "processes is"),
        (
            lambda: scaling_lines(1, [1.5]),  # type: ignore[list-item]
            "processes is",
        ),
        (lambda: scaling_lines(1, [1], 1.1), "serial_fraction is 1.1"),
        (lambda: scaling_lines(1, [1], overhead=lambda p: -1.0), "overhead gave"),
        (lambda: scaling_lines(1, [1, 2]).superlinear([1.0]), "one time above 0"),
        (lambda: scaling_lines(1, [1]).superlinear([0.0]), "one time above 0"),
    ],
)
def test_bad_scaling_is_one_clear_line(call, words) -> None:
    with pytest.raises(Deep500Error, match=words) as error:
        call()
    assert "\n" not in str(error.value)
