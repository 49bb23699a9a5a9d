"""Energy, clocks and slowdowns of a GPU, read from a library that stands in for NVIDIA's driver."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deep500.cli import main
from deep500.errors import Deep500Error, Unsupported
from deep500.measure.bench_blocks import TimedBlock
from deep500.measure.device_conditions import (
    DeviceConditions,
    DeviceWatch,
    slowdown_notes,
)
from deep500.measure.locked_clocks import locked_clocks
from deep500.measure.machine.host import nvidia, nvml
from deep500.measure.machine.host.files import HostFiles, Unavailable
from deep500.measure.machine.host.nvml import Nvml
from deep500.measure.sensing import energy
from deep500.measure.sensing.conditions import GpuSensor
from deep500.measure.sensing.energy import EnergyWindow, GpuEnergy, resolved
from deep500.schema import decoded, encoded
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


# ---- clocks that are locked, and conditions of blocks


@pytest.fixture
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """What the driver was asked to lock: a device, and its least and its highest clock."""
    file = tmp_path / "locks"
    file.touch()
    monkeypatch.setenv("FAKE_NVML_LOCKS", str(file))
    return lambda: file.read_text().splitlines()


GROUPS = ["pytorch", "pytorch@cuda:0", "pytorch@cuda:2", "jax@cuda:0"]


def test_clocks_are_locked_for_a_while(plant: Plant, locks: Any) -> None:
    plant(count=3)
    with locked_clocks(GROUPS, 1410) as locked:
        assert locked == {"cuda:0": 1410, "cuda:2": 1410}
        assert locks() == ["0 1410 1410", "2 1410 1410"]
    assert locks()[2:] == ["2 0 0", "0 0 0"]


def test_clocks_are_unlocked_after_an_error(plant: Plant, locks: Any) -> None:
    with pytest.raises(ZeroDivisionError), locked_clocks(GROUPS[:2], 900):
        raise ZeroDivisionError
    assert locks() == ["0 900 900", "0 0 0"]


def test_a_second_device_that_cannot_be_locked_unlocks_the_first(
    plant: Plant, locks: Any
) -> None:
    plant(count=3, lock_status2=3)
    with pytest.raises(Unsupported, match="Not Supported"), locked_clocks(GROUPS, 900):
        pass
    assert locks() == ["0 900 900", "0 0 0"]


@pytest.mark.parametrize(
    ("groups", "mhz", "text"),
    [
        (
            ["pytorch@cuda:0"],
            1410,
            r"let this user lock clocks \(.*Insuff.*run as root",
        ),
        (["pytorch@cuda:7"], 1410, "1 visible devices, and no cuda:7.*leave --lock-cl"),
        (["pytorch@sim:0"], 1410, "on sim:0, of which NVML knows nothing"),
        (["pytorch"], 1410, "this runs on the host: add --device"),
        (["pytorch@cuda:0"], 0, "--lock-clock 0: give MHz"),
    ],
)
def test_what_cannot_be_locked_is_one_line(
    plant: Plant, locks: Any, groups: list[str], mhz: int, text: str
) -> None:
    plant(lock_status0=4)
    with pytest.raises(Deep500Error, match=text) as raised, locked_clocks(groups, mhz):
        pass
    assert "\n" not in str(raised.value) and locks() == []


def test_the_command_says_that_it_may_not(
    plant: Plant, locks: Any, capsys: Any
) -> None:
    words = ["bench", "operator", "Relu", "--shape", "4", "--lock-clock", "900"]
    assert main(words) == 2
    assert "this runs on the host" in capsys.readouterr().err


def test_each_block_has_the_worse_of_two_looks(plant: Plant) -> None:
    plant(count=2, sm_mhz1=1980, memory_mhz1=2619, celsius1=41)
    watch = DeviceWatch(["pytorch", "pytorch@cuda:1"])
    plant(sm_mhz1=1410, celsius1=87, reasons1=0x24)
    first = watch.block()
    plant(sm_mhz1=1980, celsius1=60, reasons1=0)
    second, third = watch.block(), watch.block()
    assert first is not None and second is not None and third is not None
    assert first == [
        DeviceConditions("cuda:1", 1410, 2619, 87, ["heat", "power limit"])
    ]
    assert second[0].slowdowns == first[0].slowdowns  # as it was when it began
    assert third == [DeviceConditions("cuda:1", 1980, 2619, 60, [])]
    notes = slowdown_notes([block_with(seen) for seen in (first, second, third)])
    [note] = notes
    assert note.startswith(
        "cuda:1 was slowed down in 2 of 3 blocks (heat, power limit)"
    )
    assert slowdown_notes([block_with(third), block_with(None)]) == []


def block_with(devices: Any) -> TimedBlock:
    block = TimedBlock(process=0, calls=[1], orders=[[0]], ns=[[5]], devices=devices)
    assert decoded(TimedBlock, encoded(block), "a block") == block
    return block


@pytest.mark.parametrize("groups", [["pytorch"], ["pytorch@sim:0"], ["jax@cuda:9"]])
def test_what_nobody_tells_is_not_recorded(plant: Plant, groups: list[str]) -> None:
    assert DeviceWatch(groups).block() is None


def test_a_driver_that_goes_away_ends_the_looks_and_not_the_run(plant: Plant) -> None:
    watch = DeviceWatch(["pytorch@cuda:0"])
    plant(temperature_status0=9)
    assert watch.block() is None
