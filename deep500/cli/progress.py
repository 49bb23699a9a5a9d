"""One line on standard error that says how far a long job is."""

import sys
import time
from types import TracebackType

WIDTH = 30
SECONDS_BETWEEN_LINES = 10.0  # where the line cannot be rewritten


class ProgressLine:
    """Called with a fraction and a text; rewrites its line on a terminal, and speaks seldom elsewhere."""

    def __init__(self) -> None:
        self.terminal = sys.stderr.isatty()
        self.said = time.monotonic()

    def __call__(self, fraction: float, text: str) -> None:
        if self.terminal:
            bar = "█" * round(WIDTH * fraction)
            sys.stderr.write(f"\r\033[K{bar:░<{WIDTH}} {fraction:4.0%}  {text}")
            sys.stderr.flush()
        elif time.monotonic() - self.said > SECONDS_BETWEEN_LINES:
            self.said = time.monotonic()
            sys.stderr.write(f"{fraction:.0%} {text}\n")

    def __enter__(self) -> "ProgressLine":
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.terminal:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
