"""Networks made for the values that decide on them: shapes, axes and numbers of rounds that only a run brings."""

import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import Deep500Error
from .expansion import Expandable
from .graph import Node, in_evaluation
from .limits import check_cost
from .network import Network
from .operator import Tensor
from .programs import Programs
from .shape_inference import Specs, infer, spec_of
from .writing_out import WritingOut

Fetch = Callable[
    [str], np.ndarray | None
]  # an input or a parameter on the host, if it is there


class Mode(NamedTuple):
    """What a network is run for."""

    derivative: bool
    training: bool


class Specialised:
    """A network with constants in its static inputs. Its identity stands for these constants."""

    def __init__(self, network: Network):
        self.network = network


class Specialiser:
    """Evaluates what decides on a network, on the host, and keeps the networks made for it.

    `sources` are the inputs and parameters whose values have decided so far. Of the parameters only those that
    training changes are looked at in every call: whoever sets another one calls `forget`.
    """

    def __init__(self, structure: Network):
        self.structure = structure
        self.sources: list[str] = []
        self._changing = {*structure.trainable, *structure.state_updates}
        self._names = {name for node in structure.nodes for name in node.outputs}
        self._by_sources: Programs[Specialised] = Programs()
        self._by_decisions: Programs[Specialised] = Programs()

    def specialised(
        self, inputs: Mapping[str, Tensor], fetch: Fetch, mode: Mode
    ) -> Specialised:
        """The network for these inputs; `fetch` gives the value of one, or of a parameter."""
        known = self._by_sources.recall(self._key(inputs, fetch, mode))
        if known is not None:
            return known
        written = self._written(inputs, fetch, mode)
        new = [name for name in written.fetched if name not in self.sources]
        if new:  # what was kept did not look at these
            self.sources += new
            self._by_sources.clear()
        decisions = (mode, tuple(written.decisions))
        result = self._by_decisions.find(decisions, lambda: self._network(written))
        check_cost(
            result.network, {name: tensor.shape for name, tensor in inputs.items()}
        )
        return self._by_sources.find(self._key(inputs, fetch, mode), lambda: result)

    def forget(self) -> None:
        """A parameter has been set: what it decided on is evaluated again."""
        self._by_sources.clear()

    def _key(self, inputs: Mapping[str, Tensor], fetch: Fetch, mode: Mode) -> Hashable:
        shapes = tuple((name, tensor.shape) for name, tensor in inputs.items())
        values = []
        for name in self.sources:
            if name in inputs or name in self._changing:
                values.append((name, digest(fetch(name))))
        return mode, shapes, tuple(values)

    def _written(
        self, inputs: Mapping[str, Tensor], fetch: Fetch, mode: Mode
    ) -> WritingOut:
        structure = self.structure
        structure.check_shapes(
            inputs, {name: tensor.shape for name, tensor in inputs.items()}
        )
        sources: dict[str, Any] = {**structure.params, **inputs}
        written = WritingOut(sources, fetch, mode.derivative, self._names)
        for node in structure.ordered():
            written.write(node if mode.training else in_evaluation(node))
        return written

    def _network(self, written: WritingOut) -> Specialised:
        network = self.structure.outline()
        network.nodes = written.nodes
        return Specialised(network)


def is_open(network: Network) -> bool:
    """Whether something in a network is decided by values that only a run brings."""
    return any(
        isinstance(node.operator, Expandable) or node.deciding for node in network.nodes
    )


def inferred(
    network: Network, nodes: Sequence[Node], inputs: Mapping[str, Tensor]
) -> Specs:
    """Shape and dtype of what these nodes of a network make, in order, as far as shapes and parameters tell."""
    sources: Specs = {name: spec_of(value) for name, value in network.params.items()}
    sources.update(inputs)
    if not is_open(network):
        return infer(nodes, sources)
    written = _from_shapes(network, nodes, sources)
    return written.tensors


def specialised(network: Network, inputs: Mapping[str, Tensor]) -> Network:
    """A copy with constants wherever the shapes of the inputs and the parameters decide."""
    copy = network.copy()
    sources: Specs = {name: spec_of(value) for name, value in network.params.items()}
    copy.nodes = _from_shapes(network, network.ordered(), sources | dict(inputs)).nodes
    return copy


def _from_shapes(network: Network, nodes: Sequence[Node], sources: Specs) -> WritingOut:
    def fetch(name: str) -> np.ndarray | None:
        value = network.params.get(name)
        return value if isinstance(value, np.ndarray) else None

    names = {name for node in network.nodes for name in node.outputs}
    written = WritingOut(sources, fetch, derivative=False, reserved=names)
    for node in nodes:
        try:
            written.write(node)
        except Deep500Error:  # whoever runs the node will say so
            written.append(node)
    return written


def digest(array: np.ndarray | None) -> Hashable:
    """What is equal for the same values of the same dtype and shape."""
    if array is None:
        return None
    data = hashlib.blake2b(
        np.ascontiguousarray(array).tobytes(), digest_size=16
    ).digest()
    return array.dtype.name, array.shape, data
