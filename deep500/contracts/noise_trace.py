"""A recorded trace of detours as a file, as LogGOPSim reads it: each a line, its start and length in nanoseconds."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import Deep500Error
from ..limited_files import limited_text

MOST_BYTES = 1 << 28
LARGEST = 10**17  # nanoseconds: three years
NANOSECONDS = "# nanoseconds recorded: "
MACHINE = "# machine: "


@dataclass(frozen=True, eq=False)
class NoiseTrace:
    """Detours within `period` nanoseconds, and the machine on which they were recorded."""

    starts: np.ndarray
    ends: np.ndarray
    period: int
    machine: str = ""

    def numbers(self) -> dict[str, float]:
        """How many detours there are, and how long they take."""
        lengths = (self.ends - self.starts) / 1e3
        return {
            "detours": len(lengths),
            "seconds": self.period / 1e9,
            "share": float(np.sum(self.ends - self.starts)) / self.period,
            "median_us": float(np.median(lengths)) if len(lengths) else 0.0,
            "longest_us": float(lengths.max(initial=0.0)),
        }

    def text(self) -> str:
        """The file; LogGOPSim skips the lines that begin with #."""
        lines = [
            "# detours: start and length in nanoseconds",
            f"{NANOSECONDS}{self.period}",
            f"{MACHINE}{self.machine}",
        ]
        lengths = self.ends - self.starts
        for start, length in zip(self.starts.tolist(), lengths.tolist(), strict=True):
            lines.append(f"{start}\t{length}")
        return "\n".join([*lines, ""])


def read_noise_trace(path: Path) -> NoiseTrace:
    """The trace in a file; raises a Deep500Error that names the line that is wrong."""
    text = limited_text(path, MOST_BYTES)
    starts, ends = [0], [0]
    period, machine = 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(NANOSECONDS):
            [period] = _numbers(path, number, line.removeprefix(NANOSECONDS), 1)
        elif line.startswith(MACHINE):
            machine = line.removeprefix(MACHINE)
        elif line.strip() and not line.startswith("#"):
            start, length = _numbers(path, number, line, 2)
            if start < ends[-1] or length < 0:
                raise Deep500Error(
                    f"{path}, line {number}: a detour of {length} ns at {start} ns, and the one before ends at "
                    f"{ends[-1]} ns: give them in order, without overlaps"
                )
            starts.append(start)
            ends.append(start + length)
    if len(starts) == 1 and not period:
        raise Deep500Error(
            f"{path} has no detour: record one with `d5 doctor --noise FILE`"
        )
    # without a length of its own, a trace ends with its last detour, as in LogGOPSim
    period = max(period, ends[-1] + 1)
    return NoiseTrace(
        np.array(starts, np.int64), np.array(ends, np.int64), period, machine
    )


def _numbers(path: Path, line: int, text: str, count: int) -> list[int]:
    """So many numbers of a line; LogGOPSim's tools write them with fractions."""
    try:
        numbers = [round(float(word)) for word in text.split()]
    except (ValueError, OverflowError):
        numbers = []
    if len(numbers) != count or any(abs(number) > LARGEST for number in numbers):
        raise Deep500Error(
            f"{path}, line {line}: {text[:40]!r} is no detour: give its start and its length in nanoseconds"
        )
    return numbers
