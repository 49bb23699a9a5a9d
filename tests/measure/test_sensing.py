"""Sensors: real blocks with a known cost, and planted counters for what this machine may lack."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from deep500.errors import Deep500Error
from deep500.measure.sensing import Reading, sensors

MB = 1_000_000
RAPL = "sys/class/powercap"


def value(readings: dict[str, Reading], name: str) -> float:
    found = readings[name].value
    assert found is not None, readings[name].unavailable
    return found


def test_every_reading_has_a_value_or_a_reason() -> None:
    with sensors() as s:
        pass
    assert set(s.readings()) == {
        "wall_time", "cpu_user", "cpu_system", "cpu_utilisation", "cpu_cores", "memory_current", "memory_peak",
        "read_chars", "write_chars", "read_bytes", "write_bytes", "involuntary_switches", "energy_cpu", "energy_gpu",
        "gpu_clock", "gpu_memory_clock", "gpu_temperature", "gpu_slowdowns",
    }  # fmt: skip
    for reading in s.readings().values():
        assert (reading.value is None) == bool(reading.unavailable) and reading.source
        assert reading.value is None or reading.value >= 0


def test_an_empty_block_reads_and_writes_nothing() -> None:
    with sensors() as s:
        pass
    assert [s.readings()[name].value for name in ("read_chars", "write_chars")] == [
        0,
        0,
    ]


def test_a_busy_loop_uses_cpu_and_sleep_does_not() -> None:
    with sensors() as busy:
        end = time.process_time() + 0.2
        while time.process_time() < end:
            pass
    with sensors() as asleep:
        time.sleep(0.2)
    used = value(busy.readings(), "cpu_user") + value(busy.readings(), "cpu_system")
    assert 0.19 < used < 0.5 and value(busy.readings(), "wall_time") > 0.19
    assert (
        value(asleep.readings(), "cpu_utilisation") < 0.3
        and value(asleep.readings(), "wall_time") >= 0.19
    )
    assert value(asleep.readings(), "cpu_cores") >= 1


def test_children_are_counted_once_waited_for() -> None:
    code = "import time\nwhile time.process_time() < 0.2: pass\nopen('/dev/null', 'wb').write(bytes(3_000_000))"
    with sensors() as s:
        subprocess.run([sys.executable, "-c", code], check=True)
    assert value(s.readings(), "cpu_user") + value(s.readings(), "cpu_system") > 0.19
    assert value(s.readings(), "write_chars") >= 3 * MB


PEAKS = """
import json
from deep500.measure.sensing import sensors

def peak(s):
    return s.readings()["memory_peak"].value

def fill(size):
    bytearray(b"x") * size

with sensors() as small:
    fill(1000)
with sensors() as large:
    fill(50_000_000)
with sensors() as later:
    fill(1000)
with sensors() as outer:
    fill(50_000_000)
    with sensors() as inner:
        pass
print(json.dumps({
    "small": peak(small),
    "large": peak(large),
    "after large": large.readings()["memory_current"].value,
    "later": peak(later),
    "source": later.readings()["memory_peak"].source,
    "outer": peak(outer),
    "inner": peak(inner),
}))
"""


@pytest.fixture(scope="module")
def peaks() -> dict[str, Any]:
    """Peaks of blocks in a new process: in this one, garbage of other tests may be freed at any moment."""
    done = subprocess.run(
        [sys.executable, "-c", PEAKS], check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)


def test_peak_memory_is_that_of_the_block(peaks: dict[str, Any]) -> None:
    assert peaks["large"] - peaks["small"] > 45 * MB
    assert peaks["after large"] < peaks["large"] - 45 * MB  # freed again
    if "peak of the block" in peaks["source"]:
        assert peaks["later"] < peaks["large"] - 45 * MB
    else:
        assert "since the process began" in peaks["source"]


def test_a_block_inside_does_not_lower_the_peak_of_the_block_around(
    peaks: dict[str, Any],
) -> None:
    assert peaks["outer"] > peaks["inner"] + 40 * MB


def test_bytes_of_a_file(tmp_path: Path) -> None:
    with sensors() as writing:
        (tmp_path / "data").write_bytes(bytes(5 * MB))
    with sensors() as reading:
        (tmp_path / "data").read_bytes()
    assert 5 * MB <= value(writing.readings(), "write_chars") < 5.1 * MB
    assert value(writing.readings(), "read_chars") < 0.1 * MB
    assert 5 * MB <= value(reading.readings(), "read_chars") < 5.1 * MB


def test_readings_come_after_the_block_also_when_it_failed() -> None:
    s = sensors()
    with pytest.raises(Deep500Error, match="before the block ended"):
        s.readings()
    with pytest.raises(ZeroDivisionError), s:
        _ = 1 / 0
    assert value(s.readings(), "wall_time") > 0


def test_without_kernel_files_there_are_reasons(tmp_path: Path) -> None:
    with sensors(tmp_path) as s:
        pass
    for name in (
        "memory_peak",
        "memory_current",
        "read_chars",
        "write_bytes",
        "cpu_cores",
        "energy_cpu",
    ):
        reading = s.readings()[name]
        assert reading.value is None and "/" in (reading.unavailable or "")
    assert not list(tmp_path.iterdir())  # a sensor creates no file
    assert value(s.readings(), "wall_time") > 0


def test_a_peak_that_cannot_be_reset_says_so(tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/status").write_text("VmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\n")
    with sensors(tmp_path) as s:
        pass
    assert value(s.readings(), "memory_peak") == 2048 * 1024
    assert (
        "peak since the process began (/proc/self/clear_refs: No such file"
        in s.readings()["memory_peak"].source
    )


@pytest.mark.parametrize("content", ["rchar: many\n", "", "\x00", "wchar: 1\n"])
def test_odd_counters_are_reasons(tmp_path: Path, content: str) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    for name in ("io", "status"):
        (tmp_path / "proc/self" / name).write_text(content)
    with sensors(tmp_path) as s:
        pass
    assert (
        s.readings()["read_chars"].unavailable
        and s.readings()["memory_peak"].unavailable
    )


def zone(
    root: Path, name: str, label: str, energy: int, most: int = 262_143_328_850
) -> Path:
    folder = root / RAPL / name
    folder.mkdir(parents=True)
    (folder / "name").write_text(f"{label}\n")
    (folder / "energy_uj").write_text(f"{energy}\n")
    (folder / "max_energy_range_uj").write_text(f"{most}\n")
    (folder / "constraint_0_power_limit_uw").write_text("150000000\n")
    return folder


def test_energy_sums_packages_and_counts_nothing_twice(tmp_path: Path) -> None:
    first, second = (
        zone(tmp_path, f"intel-rapl:{n}", f"package-{n}", 1 * MB) for n in (0, 1)
    )
    core, whole = (
        zone(tmp_path, "intel-rapl:0:0", "core", 0),
        zone(tmp_path, "intel-rapl:2", "psys", 0),
    )
    again = zone(tmp_path, "intel-rapl-mmio:0", "package-0", 0)
    with sensors(tmp_path) as s:
        for folder, energy in (
            (first, 3),
            (second, 6),
            (core, 100),
            (whole, 100),
            (again, 100),
        ):
            (folder / "energy_uj").write_text(f"{energy * MB}\n")
    assert value(s.readings(), "energy_cpu") == pytest.approx(2 + 5)


def test_energy_over_the_end_of_the_counter(tmp_path: Path) -> None:
    folder = zone(tmp_path, "intel-rapl:0", "package-0", 65_000 * MB, most=65_532 * MB)
    with sensors(tmp_path) as s:
        (folder / "energy_uj").write_text(f"{10 * MB}\n")
    assert value(s.readings(), "energy_cpu") == pytest.approx(532 + 10)


def test_energy_is_refused_where_the_counter_may_have_ended_twice(
    tmp_path: Path,
) -> None:
    # 1 mJ lasts 7 microseconds at 150 W
    zone(tmp_path, "intel-rapl:0", "package-0", 1, most=1000)
    with sensors(tmp_path) as s:
        time.sleep(0.001)
    reading = s.readings()["energy_cpu"]
    assert reading.value is None and "more than once" in (reading.unavailable or "")


def test_one_unreadable_package_leaves_no_partial_sum(tmp_path: Path) -> None:
    zone(tmp_path, "intel-rapl:0", "package-0", 1)
    (zone(tmp_path, "intel-rapl:1", "package-1", 1) / "energy_uj").unlink()
    with sensors(tmp_path) as s:
        pass
    reading = s.readings()["energy_cpu"]
    assert reading.value is None and "intel-rapl:1/energy_uj: No such file" in (
        reading.unavailable or ""
    )
