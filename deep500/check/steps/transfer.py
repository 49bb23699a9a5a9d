"""States and batches for another process: arrays of NumPy and of frameworks, containers, numbers and texts."""

from collections.abc import Mapping
from typing import Any

from ...errors import Deep500Error
from ...frameworks import framework
from ...import_address import at_address, import_address
from ..wire import Unpack, decoded, encoded

# by the package that a tensor's class is from
PACKAGES = {
    "torch": "pytorch",
    "jax": "jax",
    "jaxlib": "jax",
    "tensorflow": "tensorflow",
}


def packed(tree: Any) -> Any:
    """The tree as JSON; a TypeError names the class of what cannot be sent."""
    return encoded(tree, _pack)


def unpacked(message: Any) -> Any:
    """The tree again, with tensors of the same frameworks."""
    tensors = {name: framework(name).tensor for name in set(PACKAGES.values())}
    unpack: Unpack = {**tensors, "named": _named_tuple}
    return decoded(message, unpack)


def _pack(value: Any) -> tuple[str, Any] | None:
    if hasattr(value, "_fields"):
        address = import_address(type(value))
        if address is None:
            raise TypeError(
                f"a {type(value).__name__} cannot be handed to another process"
            )
        return "named", [list(address), list(value)]
    if isinstance(value, Mapping) and not isinstance(value, dict):
        return "named", [None, dict(value)]
    package = type(value).__module__.partition(".")[0]
    if package in PACKAGES and hasattr(value, "dtype"):
        name = PACKAGES[package]
        tensor = value.detach() if hasattr(value, "detach") else value
        return name, framework(name).array(tensor)
    return None


def _named_tuple(content: Any) -> Any:
    address, values = content
    if address is None:
        return values
    maker = at_address(address)
    if not (isinstance(maker, type) and issubclass(maker, tuple)):
        raise Deep500Error(f"{address[1]} is no named tuple any more")
    return maker(*values)
