"""Level 2: one optimizer per file; `optimizers.Adam` is found in adam.py."""

from .. import registry


def __getattr__(name: str) -> type:
    if name not in registry.known("optimizers"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return registry.find("optimizers", name)
