"""NVIDIA's management library, which comes with the driver, called through ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from .files import Unavailable

FILE = "libnvidia-ml.so.1"
SUCCESS = 0
NAME_LENGTH = 96
CLOCKS = {"sm": 1, "memory": 2}  # nvmlClockType_t
GPU_TEMPERATURE = 0
NO_PERMISSION = 4
# Bits of the reasons for a clock below the highest that are no fault of the load or of a setting.
SLOWDOWNS = {
    0x04: "power limit",
    0x08: "hardware slowdown",
    0x20: "heat",
    0x40: "heat (hardware)",
    0x80: "power brake",
}
# newest first: the second is what older drivers have
REASONS = (
    "nvmlDeviceGetCurrentClocksEventReasons",
    "nvmlDeviceGetCurrentClocksThrottleReasons",
)


class NotPermitted(Unavailable):
    """The driver does this for root only."""


class Nvml:
    """The started library; whoever opens it calls `close`. Devices are numbered as on the PCI bus."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL(FILE)
        except OSError:
            raise Unavailable(
                f"{FILE} is not here: there is no driver of NVIDIA"
            ) from None
        self._library.nvmlErrorString.restype = ctypes.c_char_p
        self._call("nvmlInit_v2")

    def close(self) -> None:
        self._library.nvmlShutdown()

    def __enter__(self) -> Nvml:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def count(self) -> int:
        value = ctypes.c_uint()
        self._call("nvmlDeviceGetCount_v2", ctypes.byref(value))
        return value.value

    def name(self, index: int) -> str:
        return self._text("nvmlDeviceGetName", index)

    def uuid(self, index: int) -> str:
        return self._text("nvmlDeviceGetUUID", index)

    def energy_mj(self, index: int) -> int:
        """Millijoule since the driver was loaded."""
        name = "nvmlDeviceGetTotalEnergyConsumption"
        return self._number(name, index, ctypes.c_ulonglong)

    def clock_mhz(self, index: int, kind: str) -> int:
        """The clock of the multiprocessors ("sm") or of the memory, now."""
        return self._number(
            "nvmlDeviceGetClockInfo", index, ctypes.c_uint, CLOCKS[kind]
        )

    def temperature(self, index: int) -> int:
        """Degrees Celsius."""
        name = "nvmlDeviceGetTemperature"
        return self._number(name, index, ctypes.c_uint, GPU_TEMPERATURE)

    def lock_clock(self, index: int, mhz: int) -> None:
        """Keep the clock of the multiprocessors, which a driver rounds to one that the device has."""
        clock = ctypes.c_uint(mhz)
        handle = self._handle(index)
        self._call("nvmlDeviceSetGpuLockedClocks", handle, clock, clock)

    def unlock_clock(self, index: int) -> None:
        self._call("nvmlDeviceResetGpuLockedClocks", self._handle(index))

    def slowdowns(self, index: int) -> list[str]:
        """Why the clock is lower than the load and the settings would let it be, now; empty if it is not."""
        name = next(filter(self._has, REASONS), REASONS[-1])
        bits = self._number(name, index, ctypes.c_ulonglong)
        return [reason for bit, reason in SLOWDOWNS.items() if bits & bit]

    def _has(self, name: str) -> bool:
        return hasattr(self._library, name)

    def _text(self, function: str, index: int) -> str:
        text = ctypes.create_string_buffer(NAME_LENGTH)
        self._call(function, self._handle(index), text, ctypes.c_uint(NAME_LENGTH))
        return text.value.decode(errors="replace")

    def _number(
        self, function: str, index: int, kind: Callable[[], Any], *options: int
    ) -> int:
        value = kind()
        words = [ctypes.c_uint(option) for option in options]
        self._call(function, self._handle(index), *words, ctypes.byref(value))
        return value.value

    def _handle(self, index: int) -> ctypes.c_void_p:
        handle = ctypes.c_void_p()
        number = ctypes.c_uint(index)
        self._call("nvmlDeviceGetHandleByIndex_v2", number, ctypes.byref(handle))
        return handle

    def _call(self, function: str, *arguments: Any) -> None:
        if not self._has(function):
            raise Unavailable(f"this driver's NVML has no {function}")
        status = getattr(self._library, function)(*arguments)
        if status != SUCCESS:
            text = self._library.nvmlErrorString(status)
            reason = text.decode(errors="replace")
            kind = NotPermitted if status == NO_PERMISSION else Unavailable
            raise kind(f"NVML: {function}: {reason}")
