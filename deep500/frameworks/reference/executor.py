"""A network in NumPy: formulas forward, derivatives backward, the optimizer's rule as it stands."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...contracts import tape
from ...contracts.executor import HostMemoryExecutor, TrainingStep, Values, matching
from ...contracts.framework import Framework
from ...contracts.network import Network, Node
from ...contracts.optimizer import Optimizer, State
from ...errors import Unsupported


class ReferenceExecutor(HostMemoryExecutor):
    """Computes in the precision of the parameters and inputs: float32, or float64 to check the others against.

    Trained parameters are parts of flat buffers, which an update changes in place.
    """

    tells_forward = True

    def __init__(
        self,
        framework: Framework,
        network: Network,
        seed: int = 0,
        compile: bool = False,
    ):
        if compile:
            raise Unsupported(f"{framework.name} has no compiler: leave compile out")
        super().__init__(framework, network, seed)
        self._param_buffers = self.layout.gather(network.params)
        trained = self.layout.views(self._param_buffers)
        self.params = {
            name: trained[name] if name in trained else value.copy()
            for name, value in network.params.items()
        }
        self._gradient_buffers: dict[str, np.ndarray] | None = None

    def inference(self, inputs: Mapping[str, Any]) -> Values:
        inputs = self.keyed(inputs)
        outputs = self.structure.computable(inputs)
        nodes, used = self.structure.part(outputs, training=False)
        values = self._values(inputs, used)
        results, _ = tape.forward(
            self.framework.xp, nodes, values, outputs, self._kernel, record=False
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
        xp, structure = self.framework.xp, self.structure
        updates = structure.state_updates if self.training else {}
        wanted = {*structure.outputs, *updates.values(), y}
        nodes, used = structure.part(wanted, self.training)
        values = self._values(inputs, used)
        self.gradients, self._gradient_buffers = (
            {},
            None,
        )  # free before new ones are there
        results, record = tape.forward(xp, nodes, values, wanted)
        if self.after_forward is not None:
            self.after_forward()
        by = {name: self.params[name] for name in structure.trainable}
        self.gradients = tape.backward(xp, record, y, tape.seed(xp, results[y], y), by)
        self.generation += 1
        self.params |= {name: results[value] for name, value in updates.items()}
        return self._detached({name: results[name] for name in structure.outputs})

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

    def _kernel(self, node: Node, inputs: Sequence[Any]) -> tuple:
        return self.choose(node, inputs)[0](*inputs)

    def _values(self, inputs: Mapping[str, Any], used: list[str]) -> Values:
        """Inputs in their declared dtypes, and the parameters."""
        specs = self.structure.inputs
        arrays = {
            name: np.asarray(inputs[name], specs[name].dtype)
            for name in used
            if name in inputs
        }
        self.structure.check_shapes(
            used, {name: value.shape for name, value in arrays.items()}
        )
        return arrays | self.params

    def _detached(self, outputs: Values) -> Values:
        """The outputs, with copies of those that are parameters: an update changes these in place."""
        buffers = self._param_buffers.values()
        return {
            name: np.array(value)
            if any(np.may_share_memory(value, buffer) for buffer in buffers)
            else value
            for name, value in outputs.items()
        }


class ReferenceStep(TrainingStep):
    """One parameter after the other."""

    executor: ReferenceExecutor

    def __init__(self, executor: ReferenceExecutor, optimizer: Optimizer, y: str):
        super().__init__(executor, optimizer, y)
        xp, params = executor.framework.xp, executor.params
        self.states = {}
        for name in executor.structure.trainable:
            first = optimizer.init_named(xp, name, params[name])
            self.states[name] = _apart(first, params[name])

    def _update(self) -> None:
        executor, xp = self.executor, self.executor.framework.xp
        step = np.asarray(self.count + 1, np.float32)
        params = {name: executor.params[name] for name in self.states}
        for name, new, state in self.optimizer.updates(
            xp, params, executor.gradients, self.states, step
        ):
            self.states[name] = _apart(state, params[name])
            np.copyto(params[name], new)

    def state(self) -> dict[str, np.ndarray]:
        """The count of steps as "step", and "parameter.name" for every array of the optimizer's state."""
        arrays = {"step": np.asarray(self.count, np.float32)}
        for name, state in self.states.items():
            arrays |= {f"{name}.{key}": np.array(value) for key, value in state.items()}
        return arrays

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        arrays = matching("optimizer state", self.state(), state)
        self.count = int(arrays["step"])
        for name, own in self.states.items():
            self.states[name] = {key: arrays[f"{name}.{key}"] for key in own}


def _apart(state: State, param: np.ndarray) -> State:
    """The state, with copies of arrays that are the parameter itself, which will be changed in place."""
    return {
        key: np.array(value) if np.may_share_memory(value, param) else value
        for key, value in state.items()
    }
