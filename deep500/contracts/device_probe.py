"""What checks can see of a framework's device: transfers, shared memory, values that are not computed yet."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Transfers:
    """What a block of code made the host wait for, by name, and how often it copied from the device to the host."""

    waits: dict[str, int] = field(default_factory=dict)
    copies_to_host: int = 0


class DeviceProbe:
    """This one sees nothing; an adapter has one of its own for what its framework and its devices tell."""

    def is_plain(self, value: Any) -> bool:
        """Whether a native value holds its elements, and does not compute them when they are read."""
        return True

    def same_memory(self, a: Any, b: Any) -> bool:
        """Whether two native values lie in the same memory."""
        return False

    @contextmanager
    def transfers(self) -> Iterator[Transfers | None]:
        """What happens in the block; None where that is not known."""
        yield None

    @contextmanager
    def slowed(self, seconds: float) -> Iterator[None]:
        """Every kernel in the block takes so much longer, on a device that can be slowed down."""
        yield
