"""The source of this package, and what Python runs before anything else: together, what a measurement trusts."""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from pathlib import Path

from .files import HostFiles
from .secrets import without_secrets

PACKAGE = Path(__file__).parents[3]
STARTED_FIRST = ("sitecustomize", "usercustomize")


def package_source(host: HostFiles) -> str:
    return package_hash()


@functools.cache
def package_hash() -> str:
    """SHA-256 over the names and contents of all Python files of this package."""
    total = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        name = path.relative_to(PACKAGE).as_posix()
        total.update(f"{name} {digest}\n".encode())
    return total.hexdigest()


def python_path(host: HostFiles) -> str:
    return without_secrets(os.environ.get("PYTHONPATH", "not set"))


def started_first(host: HostFiles) -> list[str] | str:
    """The modules that Python imports by itself before a program begins, with their hashes."""
    found = []
    for name in STARTED_FIRST:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is None:
            continue
        try:
            digest = hashlib.sha256(Path(file).read_bytes()).hexdigest()
        except OSError:
            digest = "unknown"
        found.append(f"{name}, sha256 {digest}")
    return found or "none"
