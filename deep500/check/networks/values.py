"""What only the check of networks sends: networks, nodes, definitions, and the arrays of a run."""

from typing import Any

from ...contracts.network import Network, Node, Subgraph
from ...contracts.operator import TensorSpec
from ...definition import Definition
from ...import_address import at_address, import_address
from ..wire import Malformed
from .runner import RunArrays

RECORD_TYPES: tuple[type[Any], ...] = (Node, Subgraph, TensorSpec, RunArrays)
RECORDS = {kind.__name__: kind for kind in RECORD_TYPES}


def pack(value: Any) -> tuple[str, Any] | None:
    """The kind and the content of such a value; a TypeError for a definition that no other process can import."""
    if isinstance(value, Definition):
        address = import_address(type(value))
        if address is None:
            name = type(value).__qualname__
            raise TypeError(f"no other process can import {name}")
        return "definition", (address, value.settings)
    if isinstance(value, Network):
        return "network", _contents(value)
    if type(value) in RECORD_TYPES:
        return "record", (type(value).__name__, tuple(vars(value).values()))
    return None


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


def _definition(content: Any) -> Definition:
    address, settings = content
    return at_address(address)(**settings)


def _network(contents: Any) -> Network:
    network = Network(contents["name"])
    network.inputs |= contents["inputs"]
    network.params |= contents["params"]
    network.trainable += contents["trainable"]
    network.nodes = contents["nodes"]
    network.outputs += contents["outputs"]
    network.state_updates |= contents["state_updates"]
    return network


def _record(content: Any) -> Any:
    name, fields = content
    return RECORDS[name](*fields)


def _run_arrays(content: Any) -> RunArrays:
    name, fields = content
    if name != RunArrays.__name__:
        raise Malformed("a record that is no answer")
    return RunArrays(*fields)


# what the process is asked with
QUESTIONS = {"definition": _definition, "network": _network, "record": _record}
# what it answers; code is never made of an answer
ANSWERS = {"record": _run_arrays}
