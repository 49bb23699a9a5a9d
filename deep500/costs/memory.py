"""Predicts the memory and depth of a network by a run on arrays without elements, which are freed as in a real run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..contracts.framework import Framework
from ..contracts.network import Network, Node
from ..contracts.operator import TensorSpec
from ..contracts.optimizer import Optimizer
from ..errors import Deep500Error
from ..graph import tape
from .abstract_arrays import WORKSPACE, AbstractArray, Buffer, Meter, depth_of, new
from .abstract_namespace import AbstractNamespace

WEIGHTS, INPUTS, OUTPUTS = "weights", "inputs", "outputs"
BY_WEIGHTS = "gradients of weights"
BY_OUTPUTS = "gradients of outputs"
STATE = "optimizer state"
CATEGORIES = (
    WEIGHTS,
    INPUTS,
    OUTPUTS,
    BY_WEIGHTS,
    BY_OUTPUTS,
    STATE,
    WORKSPACE,
)
# frameworks in which the gradients of a step live until the next backward pass
KEEP_GRADIENTS = ("pytorch",)
# the number of elements of flat buffers that an optimizer's formula updates at once
FLAT_UPDATES = {"pytorch": 1 << 18}


@dataclass
class NodeMemory:
    """Bytes that a node allocates and keeps, and the level while it runs."""

    outputs: int = 0  # that it allocates; a view of an input takes none
    kept: int = 0  # of inputs and results, for its derivative
    # besides its results, forward or backward, whichever is more
    workspace: int = 0
    forward: int = 0  # everything that is alive while it runs
    backward: int = 0
    depth: int = 0  # the longest chain of dependent operations, forward


@dataclass
class MemoryPeak:
    """The peak of the bytes that are in use at once, the place where it occurs, and its parts by category."""

    peak: int
    place: str
    parts: Mapping[str, int]
    depth: int = 0  # the longest chain of dependent operations of the whole run
    nodes: Mapping[str, NodeMemory] = field(default_factory=dict)
    unknown: Sequence[str] = ()  # nodes whose workspace could not be worked out


def inference_memory(
    network: Network,
    inputs: Mapping[str, TensorSpec],
    framework: Framework | None = None,
) -> MemoryPeak:
    """The memory of one inference; without a framework, with kernels that need no workspace."""
    walk = _Walk(network, inputs, framework)
    predictions = [name for name in network.outputs if name != "loss"]
    walk.forward(predictions or network.outputs, training=False)
    return walk.result()


def training_memory(
    network: Network,
    inputs: Mapping[str, TensorSpec],
    framework: Framework | None = None,
    optimizer: Optimizer | None = None,
    y: str = "loss",
) -> MemoryPeak:
    """The memory of a training step after the first: forward, backward, and the update if there is an optimizer."""
    walk = _Walk(network, inputs, framework)
    walk.train(y, optimizer)
    return walk.result()


class _Walk:
    """One run of the network and the meter that counts its bytes."""

    def __init__(
        self,
        network: Network,
        inputs: Mapping[str, TensorSpec],
        framework: Framework | None,
    ):
        self.network = network
        self.framework = framework
        self.trainable = set(network.trainable)
        self.meter = Meter()
        self.xp = AbstractNamespace(self.meter)
        self.nodes: dict[str, NodeMemory] = {}
        self.unknown: list[str] = []
        self.depth = 0
        self.params = {
            name: new(self.meter, param.shape, str(param.dtype), WEIGHTS)
            for name, param in network.params.items()
        }
        self.inputs = {
            name: new(self.meter, tensor.shape, tensor.dtype, INPUTS)
            for name, tensor in inputs.items()
        }

    def result(self) -> MemoryPeak:
        meter = self.meter
        parts = {name: meter.at_peak.get(name, 0) for name in CATEGORIES}
        unknown = list(dict.fromkeys(self.unknown))
        return MemoryPeak(
            meter.peak, meter.peak_place, parts, self.depth, self.nodes, unknown
        )

    def forward(
        self, outputs: Sequence[str], training: bool
    ) -> tuple[dict[str, Any], list[tape.TapeEntry]]:
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
        names = [*network.outputs, y, *network.state_updates.values()]
        unique_names = list(dict.fromkeys(names))
        results, record = self.forward(unique_names, training=True)
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
            result_bytes = self._count_as(OUTPUTS, results)
        self._allocate_kernel_workspace(node, "forward", inputs)
        memory = self.nodes.setdefault(node.name, NodeMemory())
        memory.outputs = result_bytes
        memory.forward = self.meter.highest
        depth = depth_of(results)
        memory.depth = max(0, depth - depth_of(inputs))
        self.depth = max(self.depth, depth)
        workspace = self.meter.highest - before - result_bytes
        memory.workspace = max(memory.workspace, workspace)
        return results

    def _rule(self, entry: tape.TapeEntry, grads: Mapping[str, Any]) -> Sequence[Any]:
        node, meter = entry.node, self.meter
        meter.begin(f"{node.name}, backward")
        before = meter.level
        with meter.without_workspace(self._native(node)):
            gradients = self._gradients(entry, grads)
            gradient_bytes = self._count_gradients(node, gradients)
        self._allocate_kernel_workspace(node, "backward", entry.inputs)
        self.depth = max(self.depth, depth_of(gradients))
        memory = self.nodes[node.name]
        memory.backward = meter.highest
        workspace = meter.highest - before - gradient_bytes
        memory.workspace = max(memory.workspace, workspace)
        return gradients

    def _results(self, node: Node, inputs: Sequence[Any]) -> tuple:
        try:
            return node.operator.run(self.xp, *inputs)
        except Exception:  # its values decide what is computed, or it calls a function that is not in the namespace
            self.unknown.append(node.name)
        depth = depth_of(inputs) + 1
        tensors = _inferred_outputs(node, inputs)
        return tuple(
            new(self.meter, tensor.shape, str(tensor.dtype), depth=depth)
            for tensor in tensors
        )

    def _gradients(
        self, entry: tape.TapeEntry, grads: Mapping[str, Any]
    ) -> Sequence[Any]:
        try:
            return tape.entry_gradients(self.xp, entry, grads)
        except Deep500Error:  # no derivative
            raise
        except Exception:
            self.unknown.append(entry.node.name)
        return [_like(self.meter, x) for x in entry.inputs]

    def _allocate_kernel_workspace(
        self, node: Node, direction: str, inputs: Sequence[Any]
    ) -> None:
        """Allocate and release what a native kernel uses internally, if its operator says how much that is."""
        if self.framework is None or not self._native(node):
            return
        tensors = _tensors(inputs)
        nbytes = node.operator.workspace(self.framework.name, direction, *tensors)
        if nbytes:
            Buffer(self.meter, nbytes)

    def _native(self, node: Node) -> bool:
        """Whether the node runs on a native kernel, whose inner allocations are not counted."""
        if self.framework is None:
            return True
        outputs = len(node.outputs)
        _, kind = self.framework.kernel(node.operator, outputs, node.inputs)
        return kind == "native"

    def _count_as(self, category: str, results: Sequence[Any]) -> int:
        """Move newly allocated arrays to a category, and return how many bytes they have."""
        allocated = 0
        for result in results:
            if (
                isinstance(result, AbstractArray)
                and result.buffer.category == WORKSPACE
            ):
                result.buffer.count_as(category)
                allocated += result.buffer.nbytes
        return allocated

    def _count_gradients(self, node: Node, gradients: Sequence[Any]) -> int:
        allocated = 0
        for name, gradient in zip(node.inputs, gradients, strict=True):
            category = BY_WEIGHTS if name in self.trainable else BY_OUTPUTS
            allocated += self._count_as(category, [gradient])
        return allocated

    def _note_kept(self, record: Sequence[tape.TapeEntry]) -> None:
        for entry in record:
            sizes = {}  # of each buffer once, though several arrays may lie in it
            for x in (*entry.inputs, *entry.results):
                if isinstance(x, AbstractArray) and x.buffer.category != WEIGHTS:
                    sizes[id(x.buffer)] = x.buffer.nbytes
            memory = self.nodes[entry.node.name]
            memory.kept = sum(sizes.values())

    def _old_gradients(self, by: Mapping[str, AbstractArray]) -> list[AbstractArray]:
        if self.framework is None or self.framework.name not in KEEP_GRADIENTS:
            return []
        return self._gradient_arrays(by)

    def _flat_gradients(
        self, by: Mapping[str, AbstractArray], optimizer: Optimizer | None
    ) -> list[AbstractArray]:
        if optimizer is None or self._flat_update_size(optimizer) is None:
            return []
        return self._gradient_arrays(by)

    def _gradient_arrays(self, by: Mapping[str, AbstractArray]) -> list[AbstractArray]:
        gradients = []
        for param in by.values():
            gradient = new(self.meter, param.shape, param.dtype, BY_WEIGHTS)
            gradients.append(gradient)
        return gradients

    def _state(
        self, optimizer: Optimizer | None, param: AbstractArray
    ) -> dict[str, Any]:
        state = optimizer.init(self.xp, param) if optimizer else {}
        self._count_as(STATE, list(state.values()))
        return state

    def _flat_update_size(self, optimizer: Optimizer) -> int | None:
        """How many elements are updated at once; None if the update does not run over flat buffers."""
        if self.framework is None or optimizer.native(self.framework.name):
            return None
        if not optimizer.elementwise:
            return None
        return FLAT_UPDATES.get(self.framework.name)

    def _update(
        self,
        optimizer: Optimizer,
        gradients: Mapping[str, Any],
        states: dict[str, Any],
    ) -> None:
        if self.framework is None or optimizer.native(self.framework.name):
            return  # in place
        at_once = self._flat_update_size(optimizer)
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

    def _piece(self, param: AbstractArray, size: int) -> AbstractArray:
        """A part of a parameter, in its memory."""
        flat = self.xp.reshape(param, (param.size,))
        return flat[:size]


def _inferred_outputs(node: Node, inputs: Sequence[Any]) -> Sequence[TensorSpec]:
    operator = node.operator
    tensors = _tensors(inputs)
    if operator.random:  # the last input is the key
        tensors = tensors[: len(operator.inputs)]
    infer: Callable[..., Sequence[TensorSpec]] = operator.infer
    try:
        return infer(*tensors)
    except Exception as error:
        kind = type(operator).__name__
        raise Deep500Error(
            f"the shapes that node {node.name!r} ({kind}) makes are known "
            "only when it runs: its memory cannot be predicted"
        ) from error


def _tensors(inputs: Sequence[Any]) -> list[Any]:
    """The shape and dtype of every array; other inputs as they are."""
    return [_tensor(x) for x in inputs]


def _tensor(x: Any) -> Any:
    if not hasattr(x, "dtype"):
        return x
    return TensorSpec(x.shape, str(x.dtype))


def _like(meter: Meter, x: Any) -> Any:
    """A new array of the same shape; None for what has no gradient."""
    is_float = hasattr(x, "dtype") and "float" in str(x.dtype)
    if not is_float:
        return None
    return new(meter, x.shape, str(x.dtype))
