"""Ties weights again that an exporter separated by folding the transpose of a shared weight."""

import hashlib
from collections.abc import Iterable

import numpy as np

from .. import registry
from ..contracts.network import Network, Node


def tie_again(network: Network, parameter_names: Iterable[str]) -> None:
    """Replace a trained matrix that equals the transpose of one of these parameters by a Transpose node.

    Only a matrix that the exporter does not declare a parameter can be such a copy.
    """
    copies = _transposed_copies(network, {*parameter_names})
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
    copy_names = ", ".join(copies)
    original_names = ", ".join(copies.values())
    network.remarks.append(
        f"{copy_names} was written as a transposed copy of {original_names}: they are one weight again"
    )


def _transposed_copies(network: Network, parameters: set[str]) -> dict[str, str]:
    """The names of parameters, by those of the trained matrices that equal their transposes."""
    matrices = {}
    originals = {}
    for name in network.trainable:
        param = network.params[name]
        if param.ndim != 2:
            continue
        if name in parameters:
            originals[_digest(param.T)] = name
        else:
            matrices[name] = param
    copies = {}
    for name, matrix in matrices.items():
        original = originals.get(_digest(matrix))
        if original is not None:
            copies[name] = original
    return copies


def _digest(matrix: np.ndarray) -> bytes:
    header = f"{matrix.shape} {matrix.dtype}".encode()
    content = np.ascontiguousarray(matrix).tobytes()
    return hashlib.blake2b(header + content).digest()
