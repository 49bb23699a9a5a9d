"""Level 1: one network per file; `networks.DigitsCnn` is found in digits_cnn.py."""

from .. import registry


def __getattr__(name: str) -> type:
    if name not in registry.known("networks"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return registry.find("networks", name)
