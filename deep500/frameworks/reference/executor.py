"""Runs a network in NumPy: formulas forward, their derivatives backward, and the optimizer's update rule."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...contracts.executor import (
    HostMemoryExecutor,
    TrainingStep,
    Values,
    matching,
)
from ...contracts.framework import Framework
from ...contracts.network import Network, Node
from ...contracts.optimizer import Optimizer, State
from ...graph import tape


class ReferenceExecutor(HostMemoryExecutor):
    """Computes in the precision of the parameters and inputs: float32, or float64 to check other frameworks against.

    Trained parameters are views of flat buffers, which an update changes in place.
    """

    tells_forward = True

    def __init__(
        self,
        framework: Framework,
        network: Network,
        seed: int = 0,
        execution: str = "eager",
    ):
        super().__init__(framework, network, seed, execution)
        self._param_buffers = self.layout.gather(network.params)
        trained = self.layout.views(self._param_buffers)
        self.params = {}
        for name, value in network.params.items():
            if name in trained:
                self.params[name] = trained[name]
            else:
                self.params[name] = value.copy()
        self._gradient_buffers: dict[str, np.ndarray] | None = None

    def inference(self, inputs: Mapping[str, Any]) -> Values:
        inputs = self.keyed(inputs)
        outputs = self.structure.computable(inputs)
        nodes, used = self.structure.part(outputs, training=False)
        values = self._values(inputs, used)
        xp = self.framework.xp
        results, _ = tape.forward(
            xp, nodes, values, outputs, self._kernel, record=False
        )
        return self._detached(results)

    def inference_and_backprop(
        self,
        inputs: Mapping[str, Any],
        y: str = "loss",
        step: int = 0,
        first_row: int = 0,
    ) -> Values:
        inputs = self.keyed(inputs, step, first_row)
        xp = self.framework.xp
        structure = self.structure
        updates = structure.state_updates if self.training else {}
        targets = {*structure.outputs, *updates.values(), y}
        nodes, used = structure.part(targets, self.training)
        values = self._values(inputs, used)
        # free the last gradients before new ones are allocated
        self.gradients = {}
        self._gradient_buffers = None
        results, record = tape.forward(xp, nodes, values, targets)
        if self.after_forward is not None:
            self.after_forward()
        trained = {name: self.params[name] for name in structure.trainable}
        seed = tape.seed(xp, results[y], y)
        self.gradients = tape.backward(xp, record, y, seed, trained)
        self.generation += 1
        for name, value in updates.items():
            self.params[name] = results[value]
        outputs = {name: results[name] for name in structure.outputs}
        return self._detached(outputs)

    def forward_kept(
        self,
        inputs: Mapping[str, Any],
        outputs: Sequence[str],
        sources: Sequence[str] = (),
        step: int = 0,
        first_row: int = 0,
    ) -> tuple[Values, Any]:
        inputs = self.keyed(inputs, step, first_row)
        nodes, used = self.structure.part(outputs, self.training)
        values = self._values(inputs, used)
        results, record = tape.forward(self.framework.xp, nodes, values, {*outputs})
        by = {name: self.params[name] for name in self.structure.trainable}
        for name in sources:
            if values[name].dtype.kind == "f":
                by[name] = values[name]
        return results, (record, by)

    def pull(
        self, kept: Any, gradients: Mapping[str, Any]
    ) -> tuple[Values, Mapping[str, np.ndarray]]:
        record, by = kept
        pulled = tape.sweep(self.framework.xp, record, gradients, by)
        flat = self.layout.gather(pulled)
        names = by.keys() - {*self.structure.trainable}
        return {name: pulled[name] for name in names}, flat

    def _training_step(self, optimizer: Optimizer, y: str) -> "ReferenceStep":
        return ReferenceStep(self, optimizer, y)

    def _write(self, name: str, value: np.ndarray) -> None:
        np.copyto(self.params[name], value)

    def _flat_params(self) -> dict[str, np.ndarray]:
        return self._param_buffers

    def _flat_gradients(self) -> dict[str, np.ndarray]:
        if self._gradient_buffers is None:
            self._gradient_buffers = self.layout.gather(self.gradients)
            self.gradients = self.layout.views(self._gradient_buffers)
        return self._gradient_buffers

    def _load_flat_gradients(self, buffers: Mapping[str, np.ndarray]) -> None:
        if not self.gradients:
            self._gradient_buffers = self.layout.zeros()
            self.gradients = self.layout.views(self._gradient_buffers)
        super()._load_flat_gradients(buffers)

    def _kernel(self, node: Node, inputs: Sequence[Any]) -> tuple:
        kernel, _ = self.choose(node, inputs)
        return kernel(*inputs)

    def _values(self, inputs: Mapping[str, Any], used: list[str]) -> Values:
        """The inputs in their declared dtypes, and the parameters."""
        specs = self.structure.inputs
        arrays = {}
        shapes = {}
        for name in used:
            if name in inputs:
                array = np.asarray(inputs[name], specs[name].dtype)
                arrays[name] = array
                shapes[name] = array.shape
        self.structure.check_shapes(used, shapes)
        return arrays | self.params

    def _detached(self, outputs: Values) -> Values:
        """The outputs; those that share memory with a parameter are copied, since an update changes it in place."""
        detached = dict(outputs)
        for name, value in outputs.items():
            for buffer in self._param_buffers.values():
                if np.may_share_memory(value, buffer):
                    detached[name] = np.array(value)
        return detached


class ReferenceStep(TrainingStep):
    """Updates one parameter after the other."""

    executor: ReferenceExecutor

    def __init__(self, executor: ReferenceExecutor, optimizer: Optimizer, y: str):
        super().__init__(executor, optimizer, y)
        xp = executor.framework.xp
        self.states = {}
        for name in executor.structure.trainable:
            param = executor.params[name]
            first = optimizer.init_named(xp, name, param)
            self.states[name] = _unshared(first, param)

    def _update(self) -> None:
        executor = self.executor
        xp = executor.framework.xp
        step = np.asarray(self.count + 1, np.float32)
        params = {name: executor.params[name] for name in self.states}
        updates = self.optimizer.updates(
            xp, params, executor.gradients, self.states, step
        )
        for name, new, state in updates:
            self.states[name] = _unshared(state, params[name])
            np.copyto(params[name], new)

    def state(self) -> dict[str, np.ndarray]:
        """Return the number of steps as "step", and every array of the optimizer's state as "parameter.name"."""
        arrays = {"step": np.asarray(self.count, np.float32)}
        for name, state in self.states.items():
            for key, value in state.items():
                arrays[f"{name}.{key}"] = np.array(value)
        return arrays

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        arrays = matching("optimizer state", self.state(), state)
        self.count = int(arrays["step"])
        for name, param_state in self.states.items():
            loaded = {}
            for key in param_state:
                loaded[key] = arrays[f"{name}.{key}"]
            self.states[name] = loaded


def _unshared(state: State, param: np.ndarray) -> State:
    """The state; arrays that share memory with the parameter are copied, since the parameter is changed in place."""
    unshared = dict(state)
    for key, value in state.items():
        if np.may_share_memory(value, param):
            unshared[key] = np.array(value)
    return unshared
