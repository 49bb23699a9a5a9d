"""A busy machine: processes that take what CPUs they get, and a `d5` beside them."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

SPIN = "import time\nend = time.monotonic() + 60\nwhile time.monotonic() < end: pass"


@contextmanager
def busy_machine(processes: int) -> Iterator[None]:
    """Children of this process that spin: others, for a `d5` that is a child as well."""
    others = [
        subprocess.Popen([sys.executable, "-S", "-c", SPIN]) for _ in range(processes)
    ]
    try:
        time.sleep(0.3)
        yield
    finally:
        for process in others:
            process.kill()
            process.wait()


def d5(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "deep500.cli", *words]
    return subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=120
    )
