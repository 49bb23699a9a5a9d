"""Our own warnings are one line, as messages of `d5` are; those of libraries stay as they are."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import Deep500Warning, visible


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Print a Deep500Warning without the file and the line of Deep500 that it comes from."""
    before = warnings.showwarning

    def show(message: Any, category: Any, *place: Any, **more: Any) -> None:
        if issubclass(category, Deep500Warning):
            print(f"d5: warning: {visible(str(message))}", file=sys.stderr)
        else:
            before(message, category, *place, **more)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = before
