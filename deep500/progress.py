"""A progress line for long jobs."""

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from .errors import visible

if TYPE_CHECKING:
    from rich.progress import Progress

BAR_WIDTH = 30
SECONDS_BETWEEN_LINES = 10.0  # where the line cannot be rewritten


class ProgressLine:
    """Shows a fraction and a text: on a terminal it redraws one line, elsewhere it writes a new line now and then."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr
        self.terminal = self.stream.isatty()
        self.last_line = time.monotonic()
        self._progress: Progress | None = None
        self._drawn: tuple[int, str] | None = None  # whole percents and text

    def __call__(self, fraction: float, text: str) -> None:
        text = visible(" ".join(text.split()))
        if self.terminal:
            line = (round(100 * fraction), text)
            if line != self._drawn:  # drawing costs half a millisecond
                self._drawn = line
                self._redraw(fraction, text)
        elif time.monotonic() - self.last_line > SECONDS_BETWEEN_LINES:
            self.last_line = time.monotonic()
            self.stream.write(f"{fraction:.0%} {text}\n")
            self.stream.flush()

    def close(self) -> None:
        """Take the line off the terminal; the next call draws a new one."""
        if self._progress:
            self._progress.stop()
            self._progress = None
        self._drawn = None

    def __enter__(self) -> "ProgressLine":
        return self

    def __exit__(
        self,
        kind: type | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _redraw(self, fraction: float, text: str) -> None:
        if self._progress is None:
            self._progress = _progress(self.stream)
            self._progress.add_task("", total=1.0)
            self._progress.start()
        [task] = self._progress.task_ids
        self._progress.update(task, completed=fraction, description=text)
        self._progress.refresh()


def _progress(stream: TextIO) -> "Progress":
    """A progress bar that is drawn only when told to: a thread that refreshes it would disturb measurements."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
    )
    from rich.table import Column

    return Progress(
        BarColumn(BAR_WIDTH),
        TaskProgressColumn(),
        TextColumn(
            "{task.description}",
            markup=False,
            table_column=Column(no_wrap=True),
        ),
        console=Console(file=stream),
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
