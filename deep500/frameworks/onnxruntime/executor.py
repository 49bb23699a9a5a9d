"""Runs a network in ONNX Runtime: graphs are recorded, and a session is created for every shape of the inputs."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnxruntime import OrtValue  # type: ignore[import-untyped]

from ...contracts.executor import Executor, HostMemoryExecutor, Values
from ...contracts.network import Network, Node
from ...contracts.optimizer import Optimizer
from ...graph.programs import Programs
from ...onnx.recording.graphs import NEW, backward_model, inference_model
from . import OnnxRuntime
from .bound import BoundSession, is_direct, outputs_of, signature
from .buffers import Buffers, FlatValues, SeparateValues
from .kernels import kernel_kind
from .placement import PlacedNode, placed_nodes
from .step import OnnxRuntimeStep
from .values import to_numpy

# Records a model for inputs of these shapes.
Record = Callable[[dict[str, Sequence[int]]], onnx.ModelProto]


class OnnxRuntimeExecutor(HostMemoryExecutor):
    """Runs a network in sessions; gradients are computed by the backward pass, which is recorded as ONNX, too.

    `params` are the live buffers: a training step overwrites them, while `arrays` copies. Parameters are held twice,
    since a step reads one set and writes the other.

    Its only execution is deferred: every graph is optimised as far as possible (ORT_ENABLE_ALL) when it is loaded.
    """

    framework: OnnxRuntime

    def __init__(
        self,
        framework: OnnxRuntime,
        network: Network,
        seed: int = 0,
        execution: str = "deferred",
    ):
        super().__init__(framework, network, seed, execution)
        self.flat = (self._stored(network.params), self._stored())
        self.buffers = self._buffers(network)
        self.flat_gradient = self._stored()
        inputs = self.structure.inputs
        self._dtypes = {name: tensor.dtype for name, tensor in inputs.items()}
        # the outputs that can be computed, by the names of the inputs
        self._outputs: Programs[list[str]] = Programs()
        # the inputs that are needed, by the names of the outputs
        self._used: Programs[list[str]] = Programs()
        # sessions for NumPy arrays, by their signature
        self._bound: Programs[BoundSession] = Programs()

    def _stored(self, arrays: Mapping[str, np.ndarray] | None = None) -> Any:
        """Memory for all trained parameters, or for their gradients, with these values or zeros."""
        return FlatValues(self.layout, arrays)

    def _buffers(self, network: Network) -> Buffers:
        owned = self.framework.owned
        trained, other = (flat.tensors for flat in self.flat)
        first = {}
        for name, value in network.params.items():
            if name in trained:
                first[name] = trained[name]
            else:
                first[name] = owned(value)
        statistics = {}
        for name in network.state_updates:
            statistics[name] = owned(network.params[name])
        return Buffers(first, other | statistics)

    @property
    def params(self) -> Values:
        return self.buffers.current

    @params.setter
    def params(self, values: Values) -> None:
        """Ignore the empty dictionary that the base class sets."""

    def inference(self, inputs: Mapping[str, Any]) -> Values:
        key = (signature(inputs), self.buffers.turn, self.framework.threads)
        bound = self._bound.get(key)
        if bound is not None:
            return bound(inputs)
        inputs = self.keyed(inputs)
        names = (self.decided, *inputs)
        outputs = self._outputs.find(names, lambda: self.structure.computable(inputs))
        computed = []
        for name in outputs:
            if name not in self.params and name not in inputs:
                computed.append(name)
        direct = key if computed == outputs else None
        results = {}
        if computed:
            results = self._infer(computed, inputs, direct)
        return self.complete(results, inputs, outputs)

    def _infer(
        self, outputs: Sequence[str], inputs: Mapping[str, Any], key: Hashable
    ) -> Values:
        values = self.natives(inputs, self._inputs_of(outputs))
        record = self._recorder(outputs)
        session = self._session(("inference", *outputs), values, record)
        self._keep_bound(key, session, {})
        return self._run_into(session, values, {})

    def _recorder(self, outputs: Sequence[str]) -> Record:
        def record(shapes: dict[str, Sequence[int]]) -> onnx.ModelProto:
            kinds = self._kernel_kinds
            return inference_model(
                self.framework.xp, self.structure, outputs, shapes, kinds
            )

        return record

    def placement(self, inputs: Mapping[str, Any]) -> list[PlacedNode]:
        """Return the nodes of the optimised graph that inference runs on these inputs, with the provider of each."""
        inputs = self.keyed(inputs)
        outputs = self.structure.computable(inputs)
        values = self.natives(inputs, self._inputs_of(outputs))
        shapes = {name: value.shape() for name, value in values.items()}
        model = self._recorder(outputs)(shapes)
        threads, provider = self.framework.threads, self.framework.provider
        return placed_nodes(model, values | self.params, threads, provider)

    def inference_and_backprop(
        self,
        inputs: Mapping[str, Any],
        y: str = "loss",
        step: int = 0,
        first_row: int = 0,
    ) -> Values:
        turn, threads = self.buffers.turn, self.framework.threads
        key = (signature(inputs), turn, threads, y, self.training)
        bound = self._bound.get(key)
        if bound is None:
            results = self._differentiate(inputs, y, step, first_row, key)
        else:
            results = bound(inputs)
        structure = self.structure
        self.gradients = self.flat_gradient.tensors
        self.generation += 1
        if self.training:
            for name in structure.state_updates:
                self.params[name].update_inplace(results[NEW + name])
        return self.complete(results, inputs, structure.outputs)

    def _differentiate(
        self,
        inputs: Mapping[str, Any],
        y: str,
        step: int,
        first_row: int,
        key: Hashable,
    ) -> Values:
        training = self.training

        def record(shapes: dict[str, Sequence[int]]) -> onnx.ModelProto:
            kinds = self._kernel_kinds
            return backward_model(
                self.framework.xp, structure, y, shapes, training, kinds
            )

        keyed = self.keyed(inputs, step, first_row)
        values = self.natives(keyed, self.needed(y))
        structure = self.structure
        session = self._session(("backprop", y, training), values, record)
        gradients = {}
        for param, name in structure.gradient(y):
            gradients[name] = self.flat_gradient.tensors[param]
        self._keep_bound(key, session, gradients)
        return self._run_into(session, values, gradients)

    def _keep_bound(self, key: Any, session: Any, places: Values) -> None:
        """Bind the session for later calls, if these pass arrays in the declared dtypes and nothing else."""
        if key is None or not self.takes_inputs_as_they_are:
            return
        arrays = key[0]
        if arrays is not None and is_direct(arrays, self._dtypes):
            provider = self.framework.provider
            self._bound.find(
                key, lambda: BoundSession(session, self.params, places, provider)
            )

    def _training_step(self, optimizer: Optimizer, y: str) -> OnnxRuntimeStep:
        return OnnxRuntimeStep(self, optimizer, y)

    def choose(self, node: Node, inputs: Sequence[Any]) -> tuple[Any, str]:
        """Choose for a node that is not recorded yet; recording stores its choice itself."""
        kind = kernel_kind(self.framework.xp, node, inputs, self.training)
        self._kernel_kinds[node.name] = kind
        return None, kind

    def complete(
        self, results: Values, inputs: Mapping[str, Any], outputs: Sequence[str]
    ) -> Values:
        """Return these outputs; those that are parameters or inputs are in no graph's results, and added here."""
        missing = [name for name in outputs if name not in results]
        if not missing:
            return {name: results[name] for name in outputs}
        passed = []
        params = {}
        for name in missing:
            if name in self.params:
                params[name] = self.framework.owned(to_numpy(self.params[name]))
            else:
                passed.append(name)
        values = results | self.natives(inputs, passed) | params
        return {name: values[name] for name in outputs}

    def needed(self, y: str) -> list[str]:
        """Return the inputs that a training step on y takes."""
        structure = self.structure
        outputs = [*structure.outputs, y, *structure.state_updates.values()]
        return self._inputs_of(outputs)

    def _inputs_of(self, outputs: Sequence[str]) -> list[str]:
        def needed_inputs() -> list[str]:
            _, inputs = self.structure.part(outputs)
            return inputs

        return self._used.find((self.decided, *outputs), needed_inputs)

    def natives(self, inputs: Mapping[str, Any], used: Collection[str]) -> Values:
        """Return the used inputs as OrtValues of their declared dtypes; raises if their shapes are wrong."""
        values = {}
        shapes = {}
        for name in used:
            if name in inputs:
                value = self._native(name, inputs[name])
                values[name] = value
                shapes[name] = tuple(value.shape())
        self.structure.check_shapes(used, shapes)
        return values

    def _native(self, name: str, value: Any) -> OrtValue:
        if isinstance(value, OrtValue):
            return value
        return self.framework.tensor(value, self.structure.inputs[name].dtype)

    def _session(self, key: tuple, values: Values, record: Record) -> Any:
        shapes = {name: value.shape() for name, value in values.items()}
        threads = self.framework.threads
        key = (self.decided, *key, threads, *map(tuple, shapes.values()))
        return self.programs.find(key, lambda: self.framework.session(record(shapes)))

    def _feed(self, session: Any, values: Values) -> Values:
        available = values | self.params
        return {i.name: available[i.name] for i in session.get_inputs()}

    def _run_into(self, session: Any, values: Values, places: Values) -> Values:
        """Run a session and return its outputs; those in `places` are written there."""
        binding = session.io_binding()
        for name, value in self._feed(session, values).items():
            binding.bind_ortvalue_input(name, value)
        names = [o.name for o in session.get_outputs()]
        for name in names:
            if name in places:
                binding.bind_ortvalue_output(name, places[name])
            else:
                binding.bind_output(name, *self.framework.provider.place)
        session.run_with_iobinding(binding)
        return outputs_of(binding, names)

    def computable_value(self, value: OrtValue | np.ndarray) -> np.ndarray:
        """Return a copy as a NumPy array, since an OrtValue has no arithmetic."""
        if isinstance(value, np.ndarray):
            return value.copy()
        return to_numpy(value)

    def _flat_params(self) -> dict[str, np.ndarray]:
        return self.flat[self.buffers.turn].arrays

    def _flat_gradients(self) -> dict[str, np.ndarray]:
        return self.flat_gradient.arrays

    def _write(self, name: str, value: np.ndarray) -> None:
        self.buffers.write(name, value)


class DeviceExecutor(OnnxRuntimeExecutor):
    """Runs a network in memory that the host cannot read: flat buffers are copies, which are counted."""

    def _stored(self, arrays: Mapping[str, np.ndarray] | None = None) -> SeparateValues:
        return SeparateValues(self.layout, self.framework.provider, arrays)

    def _load_flat_gradients(self, buffers: Mapping[str, np.ndarray]) -> None:
        self.copies["to device"] += 1
        for name, view in self.layout.views(buffers).items():
            self.flat_gradient.tensors[name].update_inplace(np.ascontiguousarray(view))
        self.gradients = self.flat_gradient.tensors

    _flat_params = Executor._flat_params
    _flat_gradients = Executor._flat_gradients
    _load_flat_params = Executor._load_flat_params
