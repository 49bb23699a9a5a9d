"""Values between the judge and the processes it asks: what they consist of as JSON, their arrays as bytes of a file."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ....contracts.network import Network, Node, Subgraph
from ....contracts.operator import Tensor
from ....definition import Definition
from ...checking.subjects import imported
from .runner import Made

PLAIN = (type(None), bool, int, float, str)
RECORDS: dict[str, Any] = {
    kind.__name__: kind for kind in (Node, Subgraph, Tensor, Made)
}
ALIGNED = 64  # bytes


class Unpackable(TypeError):
    """A value that another process cannot have, such as an operator of a class that only this process knows."""


class Parcel:
    """Values that are packed one after the other, with their arrays side by side."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self.size = 0

    def pack(self, value: Any) -> Any:
        """The value as JSON; what it holds of arrays is kept for `write`."""
        if isinstance(value, PLAIN):
            return value
        if isinstance(value, np.ndarray | np.generic):
            return {
                "array": [
                    *self._array(np.asarray(value)),
                    isinstance(value, np.ndarray),
                ]
            }
        if isinstance(value, tuple | list):
            return {"tuple" if isinstance(value, tuple) else "list": self._each(value)}
        if isinstance(value, dict):
            return {"dict": [self._each(value.keys()), self._each(value.values())]}
        if isinstance(value, Definition):
            return {"definition": [*_place(type(value)), self.pack(value.settings)]}
        if isinstance(value, Network):
            return {"network": self.pack(_contents(value))}
        if type(value) in RECORDS.values():
            name = type(value).__name__
            return {"record": [name, self._each(vars(value).values())]}
        raise Unpackable(
            f"a {type(value).__name__} cannot be handed to another process"
        )

    def _each(self, values: Any) -> list[Any]:
        return [self.pack(value) for value in values]

    def _array(self, array: np.ndarray) -> list[Any]:
        if array.dtype.kind in "OSU":
            raise Unpackable("an array of texts cannot be handed to another process")
        place = self.size
        self.arrays.append(array)
        self.size += -(-array.nbytes // ALIGNED) * ALIGNED
        return [array.dtype.name, list(array.shape), place]

    def write(self, path: Path) -> None:
        with path.open("wb") as file:
            for array in self.arrays:
                data = np.ascontiguousarray(array).tobytes()
                file.write(data)
                file.write(b"\0" * (-len(data) % ALIGNED))


def unpacked(message: Any, data: bytes) -> Any:
    """The value again, from its JSON and the bytes of its arrays."""
    if isinstance(message, PLAIN):
        return message
    [(kind, content)] = message.items()
    if kind == "array":
        return _array(content, data)
    if kind in ("tuple", "list"):
        values = _values(content, data)
        return tuple(values) if kind == "tuple" else values
    if kind == "dict":
        keys, values = content
        return dict(zip(_values(keys, data), _values(values, data), strict=True))
    if kind == "definition":
        module, name, settings = content
        return imported(module, name)(**unpacked(settings, data))
    if kind == "record":
        name, values = content
        return RECORDS[name](*_values(values, data))
    return _network(unpacked(content, data))


def _values(messages: Sequence[Any], data: bytes) -> list[Any]:
    return [unpacked(message, data) for message in messages]


def _array(content: Sequence[Any], data: bytes) -> Any:
    name, shape, place, whole = content
    dtype = np.dtype(name)
    end = place + math.prod(shape) * dtype.itemsize
    array = np.frombuffer(data[place:end], dtype).reshape(shape).copy()
    return array if whole else array[()]


def _place(cls: type) -> tuple[str, str]:
    """Where another process finds a class, if what it finds there is this one."""
    module, name = cls.__module__, cls.__qualname__
    try:
        same = module != "__main__" and imported(module, name) is cls
    except (AttributeError, ImportError):
        same = False
    if not same:
        raise Unpackable(f"no other process can import {name}")
    return module, name


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
