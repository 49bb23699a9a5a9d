"""Where a user's own modules are imported from: folders that were named, after everything that is installed."""

import os
import sys


def add_import_folder(folder: str | os.PathLike[str]) -> None:
    """Let modules in this folder be imported, unless the standard library or a package has the same name."""
    try:
        place = os.path.abspath(folder)
    except FileNotFoundError:  # the current folder was removed
        return
    if place not in sys.path:
        sys.path.append(place)
