"""A network in ONNX Runtime: recorded graphs, one session for every shape of the inputs."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnxruntime import OrtValue  # type: ignore[import-untyped]

from ...contracts.executor import Executor, Values
from ...contracts.network import Network
from ...contracts.optimizer import Optimizer
from ...onnx.recording.graphs import NEW, backward_model, inference_model, is_native
from . import OnnxRuntime
from .buffers import Buffers, owned
from .step import OnnxRuntimeStep
from .values import to_numpy


class OnnxRuntimeExecutor(Executor):
    """Runs a network in sessions; gradients come from the backward pass recorded as ONNX.

    `params` are the live buffers: a training step writes them again, `arrays` copies.
    """

    framework: OnnxRuntime

    def __init__(self, framework: OnnxRuntime, network: Network):
        super().__init__(framework, network)
        trainable, params = self.structure.trainable, self.structure.params
        one_type = len({params[name].dtype for name in trainable}) == 1
        changing = {*trainable, *self.structure.state_updates}
        self.buffers = Buffers(params, changing, flat=trainable if one_type else ())
        self._sessions: dict[tuple, Any] = {}
        self._outputs: dict[tuple, list[str]] = {}  # what these inputs suffice for
        self._used: dict[
            tuple, list[str]
        ] = {}  # the inputs that these outputs need; the structure never changes

    @property
    def params(self) -> Values:
        return self.buffers.current

    @params.setter
    def params(self, values: Values) -> None:
        """Set by the base class, to nothing."""

    def inference(self, inputs: Mapping[str, Any]) -> Values:
        inputs = self.keyed(inputs)
        given = tuple(inputs)
        if given not in self._outputs:
            self._outputs[given] = self.structure.computable(inputs)
        made = [
            name for name in self._outputs[given] if name not in self.params and name not in inputs
        ]
        found = (
            self._run(
                ("inference", *made),
                inputs,
                self._inputs_of(made),
                lambda shapes: inference_model(self.framework.xp, self.structure, made, shapes),
            )
            if made
            else {}
        )
        return self.complete(found, inputs, self._outputs[given])

    def inference_and_backprop(
        self, inputs: Mapping[str, Any], y: str = "loss", step: Any = 0
    ) -> Values:
        structure, training = self.structure, self.training
        found = self._run(
            ("backprop", y, training),
            self.keyed(inputs, step),
            self.needed(y),
            lambda shapes: backward_model(self.framework.xp, structure, y, shapes, training),
        )
        self.gradients = {param: found[name] for param, name in structure.gradient(y)}
        for name in structure.state_updates if training else ():
            self.params[name].update_inplace(found[NEW + name])
        return self.complete(found, inputs, structure.outputs)

    def training_step(self, optimizer: Optimizer, y: str = "loss") -> OnnxRuntimeStep:
        self.structure.warn_before_training()
        return OnnxRuntimeStep(self, optimizer, y)

    def kernels(self) -> dict[str, str]:
        """As in training, or in inference when `training` is off."""
        dtype = next((value.dtype.name for value in self.structure.params.values()), "float32")
        return {
            node.name: "native"
            if is_native(self.framework.xp, node.operator, [dtype], self.training)
            else "composed"
            for node in self.structure.nodes
        }

    def load(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.buffers.load(arrays)

    def complete(self, found: Values, inputs: Mapping[str, Any], outputs: Sequence[str]) -> Values:
        """These outputs, of which some may be parameters or inputs: no graph makes those."""
        handed = [name for name in outputs if name not in found]
        given = self.natives(inputs, [name for name in handed if name not in self.params])
        return {
            name: found.get(name) or given.get(name) or owned(to_numpy(self.params[name]))
            for name in outputs
        }

    def needed(self, y: str) -> list[str]:
        """The inputs that a step towards y takes."""
        return self._inputs_of([*self.structure.outputs, y, *self.structure.state_updates.values()])

    def _inputs_of(self, outputs: Sequence[str]) -> list[str]:
        key = tuple(outputs)
        if key not in self._used:
            self._used[key] = self.structure.part(outputs)[1]
        return self._used[key]

    def natives(self, inputs: Mapping[str, Any], used: Collection[str]) -> Values:
        """The inputs that are used, checked, as OrtValues of their declared dtypes."""
        values = {name: self._native(name, inputs[name]) for name in used if name in inputs}
        self.structure.check_shapes(
            used, {name: tuple(value.shape()) for name, value in values.items()}
        )
        return values

    def _native(self, name: str, value: Any) -> OrtValue:
        if isinstance(value, OrtValue):
            return value
        return self.framework.tensor(value, self.structure.inputs[name].dtype)

    def _run(
        self,
        key: tuple,
        inputs: Mapping[str, Any],
        used: Sequence[str],
        record: Callable[[dict[str, Sequence[int]]], onnx.ModelProto],
    ) -> Values:
        values = self.natives(inputs, used)
        shapes = {name: value.shape() for name, value in values.items()}
        key = (*key, self.framework.threads, *map(tuple, shapes.values()))
        if key not in self._sessions:
            self._sessions[key] = self.framework.session(record(shapes))
        session = self._sessions[key]
        given = values | self.params
        feed = {i.name: given[i.name] for i in session.get_inputs()}
        names = [o.name for o in session.get_outputs()]
        return dict(zip(names, session.run_with_ort_values(names, feed), strict=True))
