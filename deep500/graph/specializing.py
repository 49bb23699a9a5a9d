"""Networks specialized to values that are known only at run time: shapes, axes and numbers of loop iterations."""

import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..contracts.network import Network
from ..contracts.operator import TensorSpec
from ..errors import Deep500Error
from .expansion import Expandable
from .graph import Node, in_evaluation
from .limits import check_cost
from .programs import Programs
from .shape_inference import Specs, infer, spec_of
from .writing_out import WritingOut

# returns an input or a parameter as a host array; None if it is not available
Fetch = Callable[[str], np.ndarray | None]


class RunMode(NamedTuple):
    """The purpose of a run: whether derivatives are needed, and whether it is training or evaluation."""

    derivative: bool
    training: bool


class Specialized:
    """A network with constants as static inputs. Its identity serves as a key for these constants."""

    def __init__(self, network: Network):
        self.network = network


class Specializer:
    """Evaluates the values that a network's structure depends on, on the host, and caches the specialized networks.

    `sources` are the inputs and parameters that structures have depended on so far. Of the parameters, only those that
    training changes are checked in every call: after setting another one, call `forget`.
    """

    def __init__(self, structure: Network):
        self.structure = structure
        self.sources: list[str] = []
        self._changing = {*structure.trainable, *structure.state_updates}
        self._names = _computed_names(structure)
        self._by_sources: Programs[Specialized] = Programs()
        self._by_decisions: Programs[Specialized] = Programs()

    def specialized(
        self, inputs: Mapping[str, TensorSpec], fetch: Fetch, mode: RunMode
    ) -> Specialized:
        """The network for these inputs; `fetch` returns the value of an input or of a parameter."""
        key = self._key(inputs, fetch, mode)
        cached = self._by_sources.recall(key)
        if cached is not None:
            return cached
        written = self._written(inputs, fetch, mode)
        new = [name for name in written.fetched if name not in self.sources]
        if new:  # the keys in the cache do not include these
            self.sources += new
            self._by_sources.clear()
        decisions = (mode, tuple(written.decisions))
        result = self._by_decisions.find(decisions, lambda: self._network(written))
        shapes = {name: tensor.shape for name, tensor in inputs.items()}
        check_cost(result.network, shapes)
        key = self._key(inputs, fetch, mode)  # with the new sources
        return self._by_sources.find(key, lambda: result)

    def forget(self) -> None:
        """Call this after setting a parameter: networks that depend on it are made again."""
        self._by_sources.clear()

    def _key(
        self, inputs: Mapping[str, TensorSpec], fetch: Fetch, mode: RunMode
    ) -> Hashable:
        shapes = tuple((name, tensor.shape) for name, tensor in inputs.items())
        values = []
        for name in self.sources:
            if name in inputs or name in self._changing:
                values.append((name, digest(fetch(name))))
        return mode, shapes, tuple(values)

    def _written(
        self, inputs: Mapping[str, TensorSpec], fetch: Fetch, mode: RunMode
    ) -> WritingOut:
        structure = self.structure
        shapes = {name: tensor.shape for name, tensor in inputs.items()}
        structure.check_shapes(inputs, shapes)
        sources: dict[str, Any] = {**structure.params, **inputs}
        written = WritingOut(sources, fetch, mode.derivative, self._names)
        for node in structure.ordered():
            written.write(node if mode.training else in_evaluation(node))
        return written

    def _network(self, written: WritingOut) -> Specialized:
        network = self.structure.outline()
        network.nodes = written.nodes
        return Specialized(network)


def is_open(network: Network) -> bool:
    """Whether the structure of a network depends on values that are known only at run time."""
    nodes = network.nodes
    return any(isinstance(node.operator, Expandable) or node.deciding for node in nodes)


def inferred(
    network: Network, nodes: Sequence[Node], inputs: Mapping[str, TensorSpec]
) -> Specs:
    """Shape and dtype of the outputs of these ordered nodes, as far as shapes and parameters determine them."""
    sources: Specs = {name: spec_of(value) for name, value in network.params.items()}
    sources.update(inputs)
    if not is_open(network):
        return infer(nodes, sources)
    written = _from_shapes(network, nodes, sources)
    return written.tensors


def specialized(network: Network, inputs: Mapping[str, TensorSpec]) -> Network:
    """A copy with constants for everything that shapes of the inputs and parameters determine."""
    copy = network.copy()
    sources: Specs = {name: spec_of(value) for name, value in network.params.items()}
    sources.update(inputs)
    written = _from_shapes(network, network.ordered(), sources)
    copy.nodes = written.nodes
    return copy


def _from_shapes(network: Network, nodes: Sequence[Node], sources: Specs) -> WritingOut:
    """The nodes written out as far as shapes and parameters determine them."""

    def fetch(name: str) -> np.ndarray | None:
        value = network.params.get(name)
        return value if isinstance(value, np.ndarray) else None

    reserved = _computed_names(network)
    written = WritingOut(sources, fetch, derivative=False, reserved=reserved)
    for node in nodes:
        try:
            written.write(node)
        except Deep500Error:  # running the node will raise it again
            written.append(node)
    return written


def _computed_names(network: Network) -> set[str]:
    """The names of all values that nodes compute."""
    names: set[str] = set()
    for node in network.nodes:
        names.update(node.outputs)
    return names


def digest(array: np.ndarray | None) -> Hashable:
    """A key that is equal for arrays with the same values, dtype and shape."""
    if array is None:
        return None
    data = np.ascontiguousarray(array).tobytes()
    value_hash = hashlib.blake2b(data, digest_size=16).digest()
    return array.dtype.name, array.shape, value_hash
