"""A network in ONNX Runtime: recorded graphs, one session for every shape of the inputs."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnxruntime import OrtValue  # type: ignore[import-untyped]

from ...contracts.executor import HostMemoryExecutor, Values
from ...contracts.network import Network, Node
from ...contracts.optimizer import Optimizer
from ...contracts.programs import Programs
from ...onnx.recording.graphs import NEW, backward_model, inference_model
from . import OnnxRuntime
from .bound import BoundSession, is_direct, outputs_of, signature
from .buffers import Buffers, FlatValues, owned
from .kernels import kernel_word
from .step import OnnxRuntimeStep
from .values import to_numpy

Record = Callable[
    [dict[str, Sequence[int]]], onnx.ModelProto
]  # a model for inputs of these shapes


class OnnxRuntimeExecutor(HostMemoryExecutor):
    """Runs a network in sessions; gradients come from the backward pass recorded as ONNX.

    `params` are the live buffers: a training step writes them again, `arrays` copies. Parameters are held twice, since
    a step reads one set and writes the other.

    `compile` changes nothing: ONNX Runtime optimises every graph as far as it can (ORT_ENABLE_ALL) when it loads it.
    """

    framework: OnnxRuntime

    def __init__(
        self,
        framework: OnnxRuntime,
        network: Network,
        seed: int = 0,
        compile: bool = False,
    ):
        super().__init__(framework, network, seed, compile)
        self.flat = FlatValues(self.layout, network.params), FlatValues(self.layout)
        self.buffers = self._buffers(network)
        self.flat_gradient = FlatValues(self.layout)
        self._dtypes = {
            name: tensor.dtype for name, tensor in self.structure.inputs.items()
        }
        self._outputs: Programs[list[str]] = Programs()  # what these inputs suffice for
        self._used: Programs[list[str]] = (
            Programs()
        )  # the inputs that these outputs need
        self._bound: Programs[BoundSession] = (
            Programs()
        )  # for NumPy arrays of the same signature

    def _buffers(self, network: Network) -> Buffers:
        trained, other = (flat.tensors for flat in self.flat)
        first = {
            name: trained[name] if name in trained else owned(value)
            for name, value in network.params.items()
        }
        statistics = {
            name: owned(network.params[name]) for name in network.state_updates
        }
        return Buffers(first, other | statistics)

    @property
    def params(self) -> Values:
        return self.buffers.current

    @params.setter
    def params(self, values: Values) -> None:
        """Set by the base class, to nothing."""

    def inference(self, inputs: Mapping[str, Any]) -> Values:
        key = (signature(inputs), self.buffers.turn, self.framework.threads)
        bound = self._bound.get(key)
        if bound is not None:
            return bound(inputs)
        inputs = self.keyed(inputs)
        names = (self.decided, *inputs)
        outputs = self._outputs.find(names, lambda: self.structure.computable(inputs))
        computed = [
            name for name in outputs if name not in self.params and name not in inputs
        ]
        direct = key if computed == outputs else None
        results = self._infer(computed, inputs, direct) if computed else {}
        return self.complete(results, inputs, outputs)

    def _infer(
        self, outputs: Sequence[str], inputs: Mapping[str, Any], key: Hashable
    ) -> Values:
        def record(shapes: dict[str, Sequence[int]]) -> onnx.ModelProto:
            words = self._kernel_words
            return inference_model(
                self.framework.xp, self.structure, outputs, shapes, words
            )

        values = self.natives(inputs, self._inputs_of(outputs))
        session = self._session(("inference", *outputs), values, record)
        self._keep_bound(key, session, {})
        return self._run_into(session, values, {})

    def inference_and_backprop(
        self,
        inputs: Mapping[str, Any],
        y: str = "loss",
        step: int = 0,
        first_row: int = 0,
    ) -> Values:
        arrays, turn = signature(inputs), self.buffers.turn
        key = (arrays, turn, self.framework.threads, y, self.training)
        bound = self._bound.get(key)
        if bound is None:
            results = self._differentiate(inputs, y, step, first_row, key)
        else:
            results = bound(inputs)
        structure = self.structure
        self.gradients = self.flat_gradient.tensors
        self.generation += 1
        for name in structure.state_updates if self.training else ():
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
            words = self._kernel_words
            return backward_model(
                self.framework.xp, structure, y, shapes, training, words
            )

        values = self.natives(self.keyed(inputs, step, first_row), self.needed(y))
        structure = self.structure
        session = self._session(("backprop", y, training), values, record)
        gradients = {
            name: self.flat_gradient.tensors[param]
            for param, name in structure.gradient(y)
        }
        self._keep_bound(key, session, gradients)
        return self._run_into(session, values, gradients)

    def _keep_bound(self, key: Any, session: Any, places: Values) -> None:
        """Bind the session for the calls to come, if they bring arrays in the declared dtypes and nothing else."""
        if key is None or key[0] is None or not self.takes_inputs_as_they_are:
            return
        if is_direct(key[0], self._dtypes):
            self._bound.find(key, lambda: BoundSession(session, self.params, places))

    def _training_step(self, optimizer: Optimizer, y: str) -> OnnxRuntimeStep:
        return OnnxRuntimeStep(self, optimizer, y)

    def choose(self, node: Node, inputs: Sequence[Any]) -> tuple[Any, str]:
        """For a node that has not been recorded yet; recording notes its choice by itself."""
        self._kernel_words[node.name] = kernel_word(
            self.framework.xp, node, inputs, self.training
        )
        return None, self._kernel_words[node.name]

    def complete(
        self, results: Values, inputs: Mapping[str, Any], outputs: Sequence[str]
    ) -> Values:
        """These outputs, of which some may be parameters or inputs: no graph makes those."""
        missing = [name for name in outputs if name not in results]
        if not missing:
            return {name: results[name] for name in outputs}
        passed = self.natives(
            inputs, [name for name in missing if name not in self.params]
        )
        params = {
            n: owned(to_numpy(self.params[n])) for n in missing if n in self.params
        }
        everything = results | passed | params
        return {name: everything[name] for name in outputs}

    def needed(self, y: str) -> list[str]:
        """The inputs that a step towards y takes."""
        return self._inputs_of(
            [*self.structure.outputs, y, *self.structure.state_updates.values()]
        )

    def _inputs_of(self, outputs: Sequence[str]) -> list[str]:
        key = (self.decided, *outputs)
        return self._used.find(key, lambda: self.structure.part(outputs)[1])

    def natives(self, inputs: Mapping[str, Any], used: Collection[str]) -> Values:
        """The inputs that are used, checked, as OrtValues of their declared dtypes."""
        values = {
            name: self._native(name, inputs[name]) for name in used if name in inputs
        }
        shapes = {name: tuple(value.shape()) for name, value in values.items()}
        self.structure.check_shapes(used, shapes)
        return values

    def _native(self, name: str, value: Any) -> OrtValue:
        if isinstance(value, OrtValue):
            return value
        return self.framework.tensor(value, self.structure.inputs[name].dtype)

    def _session(self, key: tuple, values: Values, record: Record) -> Any:
        shapes = {name: value.shape() for name, value in values.items()}
        key = (self.decided, *key, self.framework.threads, *map(tuple, shapes.values()))
        return self.programs.find(key, lambda: self.framework.session(record(shapes)))

    def _feed(self, session: Any, values: Values) -> Values:
        everything = values | self.params
        return {i.name: everything[i.name] for i in session.get_inputs()}

    def _run_into(self, session: Any, values: Values, places: Values) -> Values:
        """The outputs of a session, of which those named in `places` are written there."""
        binding = session.io_binding()
        for name, value in self._feed(session, values).items():
            binding.bind_ortvalue_input(name, value)
        names = [o.name for o in session.get_outputs()]
        for name in names:
            if name in places:
                binding.bind_ortvalue_output(name, places[name])
            else:
                binding.bind_output(name)
        session.run_with_iobinding(binding)
        return outputs_of(binding, names)

    def computable_value(self, value: OrtValue | np.ndarray) -> np.ndarray:
        """A NumPy copy: an OrtValue has no arithmetic."""
        return value.copy() if isinstance(value, np.ndarray) else to_numpy(value)

    def _flat_params(self) -> dict[str, np.ndarray]:
        return self.flat[self.buffers.turn].arrays

    def _flat_gradients(self) -> dict[str, np.ndarray]:
        return self.flat_gradient.arrays

    def _write(self, name: str, value: np.ndarray) -> None:
        self.buffers.write(name, value)
