"""Marks on a device's own clock."""

from typing import Protocol, Self


class DeviceEvent(Protocol):
    """A mark in the stream of work that a device gets."""

    def record(self) -> None:
        """Queue the mark behind the work that was queued so far."""

    def elapsed_ns(self, end: Self) -> int:
        """Nanoseconds between two marks on the device's clock; waits for the second."""
