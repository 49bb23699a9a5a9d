"""The format of values between processes: JSON for their structure, the bytes of a file for their arrays."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...contracts.network import Network, Node, Subgraph
from ...contracts.operator import TensorSpec
from ...definition import Definition
from ...import_address import Address, at_address, import_address
from .runner import Made

PLAIN = (type(None), bool, int, float, str)
RECORD_TYPES: tuple[Any, ...] = (Node, Subgraph, TensorSpec, Made)
RECORDS = {kind.__name__: kind for kind in RECORD_TYPES}
ALIGNED = 64  # bytes


class Unpackable(TypeError):
    """Raised for a value that cannot be sent, such as an operator of a class that another process cannot import."""


class Parcel:
    """Packs values one after the other, with their arrays side by side in one file."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self.size = 0

    def pack(self, value: Any) -> Any:
        """The value as JSON; its arrays are kept for `write`. Raises `Unpackable` if it cannot be sent."""
        if isinstance(value, PLAIN):
            return value
        if isinstance(value, np.ndarray | np.generic):
            is_array = isinstance(value, np.ndarray)
            location = self._array(np.asarray(value))
            return {"array": [*location, is_array]}
        if isinstance(value, tuple):
            return {"tuple": self._each(value)}
        if isinstance(value, list):
            return {"list": self._each(value)}
        if isinstance(value, dict):
            keys = self._each(value.keys())
            values = self._each(value.values())
            return {"dict": [keys, values]}
        if isinstance(value, Definition):
            address = _address(type(value))
            settings = self.pack(value.settings)
            return {"definition": [address, settings]}
        if isinstance(value, Network):
            return {"network": self.pack(_contents(value))}
        name = type(value).__name__
        if type(value) in RECORD_TYPES:
            fields = self._each(vars(value).values())
            return {"record": [name, fields]}
        raise Unpackable(f"a {name} cannot be handed to another process")

    def _each(self, values: Any) -> list[Any]:
        return [self.pack(value) for value in values]

    def _array(self, array: np.ndarray) -> list[Any]:
        if array.dtype.kind in "OSU":
            raise Unpackable("an array of texts cannot be handed to another process")
        offset = self.size
        self.arrays.append(array)
        self.size += -(-array.nbytes // ALIGNED) * ALIGNED
        return [array.dtype.name, list(array.shape), offset]

    def write(self, path: Path) -> None:
        """Write the arrays of all values that were packed."""
        with path.open("wb") as file:
            for array in self.arrays:
                data = np.ascontiguousarray(array).tobytes()
                file.write(data)
                padding = -len(data) % ALIGNED
                file.write(b"\0" * padding)


def unpacked(message: Any, data: bytes) -> Any:
    """The value of a packed message, from its JSON and the bytes of the arrays."""
    if isinstance(message, PLAIN):
        return message
    [(kind, content)] = message.items()
    if kind == "array":
        return _array(content, data)
    if kind == "tuple":
        return tuple(_values(content, data))
    if kind == "list":
        return _values(content, data)
    if kind == "dict":
        keys = _values(content[0], data)
        values = _values(content[1], data)
        return dict(zip(keys, values, strict=True))
    if kind == "definition":
        address, packed_settings = content
        definition = at_address(address)
        settings = unpacked(packed_settings, data)
        return definition(**settings)
    if kind == "record":
        name, packed_values = content
        record = RECORDS[name]
        return record(*_values(packed_values, data))
    return _network(unpacked(content, data))


def _values(messages: Sequence[Any], data: bytes) -> list[Any]:
    return [unpacked(message, data) for message in messages]


def _array(content: Sequence[Any], data: bytes) -> Any:
    name, shape, offset, is_array = content
    dtype = np.dtype(name)
    end = offset + math.prod(shape) * dtype.itemsize
    flat = np.frombuffer(data[offset:end], dtype)
    array = flat.reshape(shape).copy()
    return array if is_array else array[()]


def _address(cls: type) -> Address:
    address = import_address(cls)
    if address is None:
        raise Unpackable(f"no other process can import {cls.__qualname__}")
    return address


def _contents(network: Network) -> dict[str, Any]:
    return {
        "name": network.name,
        "inputs": network.inputs,
        "params": network.params,
        "trainable": network.trainable,
        "nodes": network.nodes,
        "outputs": network.outputs,
        "state_updates": network.state_updates,
    }


def _network(contents: dict[str, Any]) -> Network:
    network = Network(contents["name"])
    network.inputs |= contents["inputs"]
    network.params |= contents["params"]
    network.trainable += contents["trainable"]
    network.nodes = contents["nodes"]
    network.outputs += contents["outputs"]
    network.state_updates |= contents["state_updates"]
    return network
