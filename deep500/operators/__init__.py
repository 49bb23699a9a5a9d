"""Level 0: one operator per file, named as in ONNX; `operators.Conv` loads operators/conv.py when first used."""

from typing import Any

from .. import registry
from ..errors import Deep500Error


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return list(registry.known("operators"))
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return registry.find("operators", name)
    except Deep500Error as error:
        raise AttributeError(str(error)) from None


def __dir__() -> list[str]:
    return list(registry.known("operators"))
