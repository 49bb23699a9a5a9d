"""Weights that were one before a file was written: exporters fold the transpose of a shared weight."""

import hashlib
from collections.abc import Iterable

import numpy as np

from .. import registry
from ..contracts.network import Network, Node


def tie_again(network: Network, parameter_names: Iterable[str]) -> None:
    """Make a trained matrix that is the transpose of one of these parameters its Transpose again.

    Only a matrix that is no parameter by the exporter's own word can be such a copy.
    """
    parameters = {*parameter_names}
    originals = {}
    for name in network.trainable:
        if name in parameters and network.params[name].ndim == 2:
            originals[_digest(network.params[name].T)] = name
    copies = {}
    for name in network.trainable:
        if name not in parameters and network.params[name].ndim == 2:
            original = originals.get(_digest(network.params[name]))
            if original is not None:
                copies[name] = original
    if not copies:
        return
    operator = registry.find("operators", "Transpose")(perm=(1, 0))
    names = {node.name for node in network.nodes}
    transposes = []
    for copy, original in copies.items():
        node_name = f"{copy}.tied"
        while node_name in names:
            node_name += "_"
        transposes.append(Node(node_name, operator, (original,), (copy,)))
        del network.params[copy]
    network.trainable = [name for name in network.trainable if name not in copies]
    network.nodes = (*transposes, *network.nodes)
    network.remarks.append(
        f"{', '.join(copies)} was written as a transposed copy of {', '.join(copies.values())}: "
        "they are one weight again"
    )


def _digest(matrix: np.ndarray) -> bytes:
    head = f"{matrix.shape} {matrix.dtype}".encode()
    return hashlib.blake2b(head + np.ascontiguousarray(matrix).tobytes()).digest()
