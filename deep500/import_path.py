"""Folders from which a user's own modules are imported; everything that is installed takes precedence."""

import os
import sys


def add_import_folder(folder: str | os.PathLike[str]) -> None:
    """Let modules in this folder be imported, unless the standard library or a package has the same name."""
    try:
        path = os.path.abspath(folder)
    except FileNotFoundError:  # the current folder was removed
        return
    if path not in sys.path:
        sys.path.append(path)
