"""Energy, clocks and slowdowns of a GPU, read from a library that stands in for NVIDIA's driver."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deep500.measure.machine.host import nvidia, nvml
from deep500.measure.machine.host.files import HostFiles, Unavailable
from deep500.measure.machine.host.nvml import Nvml
from deep500.measure.sensing import energy
from deep500.measure.sensing.conditions import GpuSensor
from deep500.measure.sensing.energy import EnergyWindow, GpuEnergy, resolved
from deep500.training.sources.energy import EnergyCounter

SOURCE = Path(__file__).with_name("fake_nvml.c")
Plant = Callable[..., None]


@pytest.fixture(scope="module", params=["", "-DOLD_DRIVER"], ids=["new", "old"])
def library(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("driver") / nvml.FILE
    flags = [request.param] if request.param else []
    command = ["gcc", "-w", "-shared", "-fPIC", *flags, SOURCE, "-o", target]
    subprocess.run(command, check=True, timeout=60)
    return target


@pytest.fixture
def plant(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plant:
    """Set numbers of the planted machine; `seconds` is what every clock reads."""
    numbers: dict[str, float] = {}

    def write(**new: float) -> None:
        numbers.update(new)
        lines = [f"{name} {number}\n" for name, number in numbers.items()]
        (tmp_path / "planted").write_text("".join(lines))

    monkeypatch.setattr(nvml, "FILE", str(library))
    monkeypatch.setenv("FAKE_NVML", str(tmp_path / "planted"))
    for name in (nvidia.VISIBLE, nvidia.ORDER):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(energy.time, "monotonic", lambda: numbers["seconds"])
    write(seconds=0)
    return write


def joule(plant: Plant, seconds: float, device: str | None = None) -> Any:
    sensor = GpuEnergy(HostFiles(), device)
    plant(seconds=7.03)
    sensor.start()
    plant(seconds=7.03 + seconds)
    return sensor.read()["energy_gpu"]


@pytest.mark.parametrize("seconds", [2.0, 2.05, 30.0])
def test_energy_is_within_a_period_of_the_counter(plant: Plant, seconds: float) -> None:
    reading = joule(plant, seconds)
    assert reading.value == pytest.approx(100 * seconds, abs=100 * 0.1)


@pytest.mark.parametrize("seconds", [0.01, 0.5, 1.9])
def test_energy_of_a_short_window_is_refused(plant: Plant, seconds: float) -> None:
    reading = joule(plant, seconds)
    assert reading.value is None
    assert "advances about every 0.1 s, too rarely" in reading.unavailable
    assert "measure or repeat for 2 s or longer" in reading.unavailable


def test_short_windows_are_resolved_together() -> None:
    window = EnergyWindow(seconds=0.5, joule=50)
    with pytest.raises(Unavailable, match=r"for 1\.5 s: .* for 3\.46 s"):
        resolved([window] * 3)
    assert resolved([window] * 16) == 800


def test_only_the_device_of_the_run_is_counted(plant: Plant) -> None:
    plant(count=3, watt0=100, watt1=200, watt2=400)
    assert joule(plant, 10, "cuda:1").value == pytest.approx(2000, abs=20)
    assert joule(plant, 10).value == pytest.approx(7000, abs=70)
    reading = joule(plant, 10, "cuda:3")
    assert "3 visible devices, and no cuda:3" in reading.unavailable
    assert "NVML knows nothing" in joule(plant, 10, "mps:0").unavailable


@pytest.mark.parametrize(
    ("setting", "devices"),
    [
        ("2,0", [2, 0]),
        ("GPU-00a1", [1]),
        ("1,9,0", [1]),
        (" 0 , 1 ", [0, 1]),
        ("GPU-00a2-planted,1", [2, 1]),
    ],
)
def test_visible_devices_are_numbered_as_cuda_does(
    plant: Plant, setting: str, devices: list[int]
) -> None:
    plant(count=3)
    with Nvml() as library:
        environment = {nvidia.VISIBLE: setting}
        assert nvidia.used_devices(library, None, environment) == devices
        assert nvidia.used_devices(library, "cuda", environment) == devices[:1]


@pytest.mark.parametrize("setting", ["", "-1", "none"])
def test_no_visible_device_is_a_reason(plant: Plant, setting: str) -> None:
    with Nvml() as library, pytest.raises(Unavailable, match="lets programs see"):
        nvidia.used_devices(library, None, {nvidia.VISIBLE: setting})


def test_different_devices_need_an_order(plant: Plant) -> None:
    plant(count=2, model1=7)
    with Nvml() as library:
        with pytest.raises(Unavailable, match="set CUDA_DEVICE_ORDER=PCI_BUS_ID"):
            nvidia.used_devices(library, "cuda:1", {})
        ordered = {nvidia.ORDER: nvidia.BUS_ORDER}
        assert nvidia.used_devices(library, "cuda:1", ordered) == [1]
    assert nvidia.device_names() == ["Planted GPU 0", "Planted GPU 7"]


def test_a_counter_that_is_missing_or_reset_is_a_reason(plant: Plant) -> None:
    plant(energy_status0=3)
    reason = "NVML: nvmlDeviceGetTotalEnergyConsumption: Not Supported"
    assert joule(plant, 10).unavailable == reason
    plant(energy_status0=0)
    assert "went back" in joule(plant, -5).unavailable
    plant(init=9)
    assert joule(plant, 10).unavailable == "NVML: nvmlInit_v2: Driver Not Loaded"
    assert nvidia.device_names() == []


def test_without_a_driver_there_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "FILE", "libnvidia-ml-none.so.1")
    with pytest.raises(Unavailable, match="none.so.1 is not here: there is no driver"):
        Nvml()


def conditions(plant: Plant, **after: float) -> dict[str, Any]:
    sensor = GpuSensor(HostFiles())
    sensor.start()
    plant(**after)
    return sensor.read()


def test_the_worse_of_two_looks_counts(plant: Plant) -> None:
    plant(sm_mhz0=1980, memory_mhz0=2619, celsius0=41)
    found = conditions(plant, sm_mhz0=1410, celsius0=87, reasons0=0x24)
    assert found["gpu_clock"].value == 1410
    assert found["gpu_memory_clock"].value == 2619
    assert found["gpu_temperature"].value == 87
    assert found["gpu_slowdowns"].value == 2
    assert found["gpu_slowdowns"].source.endswith("before or after: heat, power limit")


def test_idling_and_settings_are_no_slowdowns(plant: Plant) -> None:
    found = conditions(plant, reasons0=0x1 + 0x2 + 0x10 + 0x100)
    assert found["gpu_slowdowns"].value == 0


def test_a_run_on_the_processor_counts_no_device(plant: Plant, tmp_path: Path) -> None:
    assert EnergyCounter(HostFiles(tmp_path)).gpu is None
    assert EnergyCounter(HostFiles(tmp_path), "cuda:0").missing() == []
    reasons = EnergyCounter(HostFiles(tmp_path), "cuda:1").missing()
    assert len(reasons) == 2 and "no cuda:1" in reasons[1]


class Run:
    """What an event sees of a trainer."""

    def __init__(self) -> None:
        self.counters: dict[str, float] = {}


def test_short_epochs_count_together(plant: Plant, tmp_path: Path) -> None:
    counter, run = EnergyCounter(HostFiles(tmp_path), "cuda"), Run()
    known = []
    for epoch in range(20):
        counter.before_epoch(run, epoch)  # type: ignore[arg-type]
        plant(seconds=0.5 * (epoch + 1))
        counter.after_epoch(run, {})  # type: ignore[arg-type]
        known.append(run.counters.get("energy"))
    assert known[:15] == [None] * 15
    assert known[15:] == pytest.approx([800, 850, 900, 950, 1000], rel=0.02)
