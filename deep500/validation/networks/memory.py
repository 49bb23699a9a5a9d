"""Predicted memory and depth of a network: its run on arrays without elements, which frees what a run frees."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...contracts import tape
from ...contracts.framework import Framework
from ...contracts.network import Network, Node
from ...contracts.operator import Tensor
from ...contracts.optimizer import Optimizer
from ...errors import Deep500Error
from .hollow import WORKSPACE, Buffer, Hollow, HollowNamespace, Meter, depth_of, new

WEIGHTS, INPUTS, OUTPUTS = "weights", "inputs", "outputs"
BY_WEIGHTS, BY_OUTPUTS, STATE = (
    "gradients of weights",
    "gradients of outputs",
    "optimizer state",
)
CATEGORIES = (WEIGHTS, INPUTS, OUTPUTS, BY_WEIGHTS, BY_OUTPUTS, STATE, WORKSPACE)
KEEP_GRADIENTS = (
    "pytorch",
)  # where those of the last step live until the next backward pass
FLAT_UPDATES = {
    "pytorch": 1 << 18
}  # elements that a formula updates at once, from flat buffers


@dataclass
class NodeMemory:
    """Bytes that a node makes and keeps, and the level while it runs."""

    outputs: int = 0  # made by it; a view of an input is nothing
    kept: int = 0  # of inputs and results, for its derivative
    workspace: int = 0  # besides its results, forward or backward, whichever is more
    forward: int = 0  # everything that is alive while it runs
    backward: int = 0
    depth: int = 0  # operations that wait for each other, forward


@dataclass
class Memory:
    """The largest number of bytes that are in use at once, when that is, and what they are for."""

    peak: int
    place: str
    parts: Mapping[str, int]
    depth: int = 0  # of the whole run: operations that wait for each other
    nodes: Mapping[str, NodeMemory] = field(default_factory=dict)
    unknown: Sequence[str] = ()  # nodes whose workspace could not be worked out


def inference_memory(
    network: Network, inputs: Mapping[str, Tensor], framework: Framework | None = None
) -> Memory:
    """Of one inference; without a framework, of kernels that need no workspace."""
    walk = _Walk(network, inputs, framework)
    outputs = [name for name in network.outputs if name != "loss"] or network.outputs
    walk.forward(outputs, training=False)
    return walk.result()


def training_memory(
    network: Network,
    inputs: Mapping[str, Tensor],
    framework: Framework | None = None,
    optimizer: Optimizer | None = None,
    y: str = "loss",
) -> Memory:
    """Of one training step, not the first: forward, backward, and the update if there is an optimizer."""
    walk = _Walk(network, inputs, framework)
    walk.train(y, optimizer)
    return walk.result()


class _Walk:
    """One run of the network, and the meter that watches it."""

    def __init__(
        self,
        network: Network,
        inputs: Mapping[str, Tensor],
        framework: Framework | None,
    ):
        self.network, self.framework = network, framework
        self.trainable = set(network.trainable)
        self.meter = Meter()
        self.xp = HollowNamespace(self.meter)
        self.nodes: dict[str, NodeMemory] = {}
        self.unknown: list[str] = []
        self.depth = 0
        self.params = {
            name: new(self.meter, p.shape, str(p.dtype), WEIGHTS)
            for name, p in network.params.items()
        }
        self.inputs = {
            name: new(self.meter, t.shape, t.dtype, INPUTS)
            for name, t in inputs.items()
        }

    def result(self) -> Memory:
        meter = self.meter
        parts = {name: meter.at_peak.get(name, 0) for name in CATEGORIES}
        unknown = list(dict.fromkeys(self.unknown))
        return Memory(
            meter.peak, meter.peak_place, parts, self.depth, self.nodes, unknown
        )

    def forward(
        self, outputs: Sequence[str], training: bool
    ) -> tuple[dict[str, Any], list[tape.Entry]]:
        nodes, _ = self.network.part(outputs, training)
        values = {**self.inputs, **self.params}
        return tape.forward(
            self.xp, nodes, values, outputs, self._kernel, record=training
        )

    def train(self, y: str, optimizer: Optimizer | None) -> None:
        network, xp = self.network, self.xp
        by = {name: self.params[name] for name in network.trainable}
        states = {name: self._state(optimizer, param) for name, param in by.items()}
        old = self._old_gradients(by)
        flat = self._flat_gradients(by, optimizer)
        wanted = list(
            dict.fromkeys([*network.outputs, y, *network.state_updates.values()])
        )
        results, record = self.forward(wanted, training=True)
        self._note_kept(record)
        old.clear()
        seed = tape.seed(xp, results[y], y)
        gradients = tape.backward(xp, record, y, seed, by, self._rule)
        if optimizer:
            self._update(optimizer, gradients, states)
        del flat

    def _kernel(self, node: Node, inputs: Sequence[Any]) -> tuple:
        self.meter.begin(f"{node.name}, forward")
        before = self.meter.level
        with self.meter.without_workspace(self._native(node)):
            results = self._results(node, inputs)
            made = self._count_as(OUTPUTS, results)
        self._own_workspace(node, "forward", inputs)
        known = self.nodes.setdefault(node.name, NodeMemory())
        known.outputs, known.forward = made, self.meter.highest
        known.depth = max(0, depth_of(results) - depth_of(inputs))
        self.depth = max(self.depth, depth_of(results))
        known.workspace = max(known.workspace, self.meter.highest - before - made)
        return results

    def _rule(self, entry: tape.Entry, grads: Mapping[str, Any]) -> Sequence[Any]:
        node, meter = entry.node, self.meter
        meter.begin(f"{node.name}, backward")
        before = meter.level
        with meter.without_workspace(self._native(node)):
            found = self._gradients(entry, grads)
            made = self._count_gradients(node, found)
        self._own_workspace(node, "backward", entry.inputs)
        self.depth = max(self.depth, depth_of(found))
        known = self.nodes[node.name]
        known.backward = meter.highest
        known.workspace = max(known.workspace, meter.highest - before - made)
        return found

    def _results(self, node: Node, inputs: Sequence[Any]) -> tuple:
        try:
            return node.operator.run(self.xp, *inputs)
        except (
            Exception
        ):  # values decide on what is done, or a function is not known here
            self.unknown.append(node.name)
        depth = depth_of(inputs) + 1
        made = _inferred(node, inputs)
        return tuple(new(self.meter, t.shape, str(t.dtype), depth=depth) for t in made)

    def _gradients(self, entry: tape.Entry, grads: Mapping[str, Any]) -> Sequence[Any]:
        try:
            return tape.entry_gradients(self.xp, entry, grads)
        except Deep500Error:  # no derivative
            raise
        except Exception:
            self.unknown.append(entry.node.name)
        return [_like(self.meter, x) for x in entry.inputs]

    def _own_workspace(self, node: Node, direction: str, inputs: Sequence[Any]) -> None:
        """What a native kernel takes for itself, where its operator says so."""
        if self.framework is None or not self._native(node):
            return
        own = node.operator.workspace(self.framework.name, direction, *_tensors(inputs))
        if own:
            Buffer(self.meter, own)

    def _native(self, node: Node) -> bool:
        """Whether the node runs by a kernel that is taken to need no workspace."""
        if self.framework is None:
            return True
        return (
            self.framework.kernel(node.operator, len(node.outputs), node.inputs)[1]
            == "native"
        )

    def _count_as(self, category: str, results: Sequence[Any]) -> int:
        """What a node made, by what it is for; returns how much it is."""
        made = 0
        for result in results:
            if isinstance(result, Hollow) and result.buffer.category == WORKSPACE:
                result.buffer.count_as(category)
                made += result.buffer.nbytes
        return made

    def _count_gradients(self, node: Node, gradients: Sequence[Any]) -> int:
        made = 0
        for name, gradient in zip(node.inputs, gradients, strict=True):
            category = BY_WEIGHTS if name in self.trainable else BY_OUTPUTS
            made += self._count_as(category, [gradient])
        return made

    def _note_kept(self, record: Sequence[tape.Entry]) -> None:
        for entry in record:
            kept = [x for x in (*entry.inputs, *entry.results) if isinstance(x, Hollow)]
            buffers = {
                id(x.buffer): x.buffer for x in kept if x.buffer.category != WEIGHTS
            }
            self.nodes[entry.node.name].kept = sum(b.nbytes for b in buffers.values())

    def _old_gradients(self, by: Mapping[str, Hollow]) -> list[Hollow]:
        if self.framework is None or self.framework.name not in KEEP_GRADIENTS:
            return []
        return [new(self.meter, p.shape, p.dtype, BY_WEIGHTS) for p in by.values()]

    def _flat_gradients(
        self, by: Mapping[str, Hollow], optimizer: Optimizer | None
    ) -> list:
        if optimizer is None or self._update_alone(optimizer) is None:
            return []
        return [new(self.meter, p.shape, p.dtype, BY_WEIGHTS) for p in by.values()]

    def _state(self, optimizer: Optimizer | None, param: Hollow) -> dict[str, Any]:
        state = optimizer.init(self.xp, param) if optimizer else {}
        self._count_as(STATE, list(state.values()))
        return state

    def _update_alone(self, optimizer: Optimizer) -> int | None:
        """How many elements are updated at once, where that is done over flat buffers."""
        if self.framework is None or optimizer.native(self.framework.name):
            return None
        return FLAT_UPDATES.get(self.framework.name) if optimizer.elementwise else None

    def _update(
        self, optimizer: Optimizer, gradients: Mapping[str, Any], states: dict[str, Any]
    ) -> None:
        if self.framework is None or optimizer.native(self.framework.name):
            return  # in place
        at_once = self._update_alone(optimizer)
        step = self.xp.asarray(1.0, "float32")
        new_param = None  # the last one lives until the next one is there
        for name, gradient in gradients.items():
            self.meter.begin(f"{name}, update")
            old = states[name]
            param = self.params[name]
            if at_once:
                param = gradient = self._piece(param, at_once)
                old = dict.fromkeys(old, param)
            new_param, state = optimizer.update(self.xp, param, gradient, old, step)
            if not at_once:
                states[name] = state
        del new_param

    def _piece(self, param: Hollow, size: int) -> Hollow:
        """A part of a parameter, in its memory."""
        flat = self.xp.reshape(param, (param.size,))
        return flat[:size]


def _inferred(node: Node, inputs: Sequence[Any]) -> Sequence[Tensor]:
    tensors = _tensors(inputs)
    infer: Callable[..., Sequence[Tensor]] = node.operator.infer
    try:
        return infer(
            *tensors[: len(node.operator.inputs)] if node.operator.random else tensors
        )
    except Exception as error:
        raise Deep500Error(
            f"the shapes that node {node.name!r} ({type(node.operator).__name__}) makes are known "
            "only when it runs: its memory cannot be predicted"
        ) from error


def _tensors(inputs: Sequence[Any]) -> list[Any]:
    return [Tensor(x.shape, str(x.dtype)) if hasattr(x, "dtype") else x for x in inputs]


def _like(meter: Meter, x: Any) -> Any:
    is_float = hasattr(x, "dtype") and "float" in str(x.dtype)
    return new(meter, x.shape, str(x.dtype)) if is_float else None
