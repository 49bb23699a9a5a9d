"""Which files are a user's own, and folders from which they are imported; what is installed takes precedence."""

import os
import sys
from functools import cache

# also where `pip install --user`, Debian and other environments put packages
PACKAGE_FOLDERS = ("site-packages", "dist-packages")


def add_import_folder(folder: str | os.PathLike[str]) -> None:
    """Let modules in this folder be imported, unless the standard library or a package has the same name."""
    try:
        path = os.path.abspath(folder)
    except FileNotFoundError:  # the current folder was removed
        return
    if path not in sys.path:
        sys.path.append(path)


def is_users_path(path: str) -> bool:
    """Whether a file is neither ours, nor Python's, nor one of an installed package."""
    parts = path.split(os.sep)
    is_package = any(folder in parts for folder in PACKAGE_FOLDERS)
    return not is_package and not path.startswith(_not_users())


@cache
def _not_users() -> tuple[str, ...]:
    import sysconfig

    ours = os.path.dirname(os.path.abspath(__file__))
    folders = [ours, *sysconfig.get_paths().values()]
    return tuple(folder + os.sep for folder in folders)
