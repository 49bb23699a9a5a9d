"""A user id for one sandbox alone: the kernel counts processes per user, over all sandboxes of a machine.

An id is leased by the name of a socket, which the kernel frees when the process that holds it ends, however it ends.
Linux only; standard library only.
"""

import errno
import secrets
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# ids that no user has, by systemd's table of them; where a container maps fewer, those of short-lived services
UNUSED = range(0x7000_0000, 0x7FFE_0000)
SHORT_LIVED = range(61_184, 65_520)
TRIES = 1000
MAP = Path("/proc/self/uid_map")


@dataclass(frozen=True)
class LeasedUser:
    """A user id that no other sandbox has until this is closed, or its process ends."""

    number: int
    lease: socket.socket

    def close(self) -> None:
        self.lease.close()


def lease_user() -> LeasedUser | None:
    """A user id for a sandbox, drawn at random; None where this system has none to give."""
    ids = _free_ids(MAP.read_text().splitlines())
    for _ in range(TRIES if ids else 0):
        number = secrets.choice(ids)
        lease = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            lease.bind(f"\0deep500-sandbox-{number}")
        except OSError as error:
            lease.close()
            if error.errno == errno.EADDRINUSE:
                continue
            return None
        return LeasedUser(number, lease)
    return None


def _free_ids(id_map: Iterable[str]) -> range:
    """The ids that are nobody's and that this user namespace maps; an empty range if it maps none of them."""
    for ids in (UNUSED, SHORT_LIVED):
        for line in id_map:
            first, _, count = map(int, line.split())
            if first <= ids.start and ids.stop <= first + count:
                return ids
    return range(0)
