"""Level 2: one initialiser per file; `initialisers.HeNormal` is found in he_normal.py."""

from .. import registry


def __getattr__(name: str) -> type:
    if name not in registry.known("initialisers"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return registry.find("initialisers", name)
