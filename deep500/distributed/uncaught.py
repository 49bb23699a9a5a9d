"""What the ranks of a user's own script say if they end with an error of ours: one line, on one rank."""

import sys
from collections.abc import Callable
from types import TracebackType

from ..errors import Deep500Error, one_line, raising_function

LONGEST = 2000


def report_in_one_line(is_reporting: Callable[[], bool]) -> None:
    """From now on a Deep500Error that nobody catches is one line, on the rank that reports it, and no traceback."""
    earlier_hook = sys.excepthook

    def hook(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if not isinstance(error, Deep500Error):
            earlier_hook(kind, error, trace)
        elif is_reporting():
            place = raising_function(error)
            where = f", in {place}" if place else ""
            sys.stderr.write(f"d5: {one_line(error, LONGEST)}{where}\n")

    sys.excepthook = hook
