"""A network in NumPy: formulas forward, derivatives backward, the optimizer's rule as it stands."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...contracts import tape
from ...contracts.executor import (
    Executor,
    TrainingStep,
    Values,
    matching,
)
from ...contracts.framework import Framework
from ...contracts.network import Network, Node
from ...contracts.optimizer import Optimizer


class ReferenceExecutor(Executor):
    """Computes in the precision of the parameters and inputs: float32, or float64 to check the others against."""

    def __init__(self, framework: Framework, network: Network):
        super().__init__(framework, network)
        self.params = dict(self.structure.params)

    def inference(self, inputs: Mapping[str, Any]) -> Values:
        inputs = self.keyed(inputs)
        outputs = self.structure.computable(inputs)
        nodes, used = self.structure.part(outputs, training=False)
        values = self._values(inputs, used)
        return tape.forward(self.framework.xp, nodes, values, outputs, self._kernel, record=False)[
            0
        ]

    def inference_and_backprop(
        self, inputs: Mapping[str, Any], y: str = "loss", step: Any = 0
    ) -> Values:
        xp, structure, inputs = self.framework.xp, self.structure, self.keyed(inputs, step)
        updates = structure.state_updates if self.training else {}
        kept = {*structure.outputs, *updates.values(), y}
        nodes, used = structure.part(kept, self.training)
        found, record = tape.forward(xp, nodes, self._values(inputs, used), kept)
        by = {name: self.params[name] for name in structure.trainable}
        self.gradients = tape.backward(xp, record, y, tape.seed(xp, found[y], y), by)
        self.params |= {name: found[value] for name, value in updates.items()}
        return {name: found[name] for name in structure.outputs}

    def training_step(self, optimizer: Optimizer, y: str = "loss") -> "ReferenceStep":
        self.structure.warn_before_training()
        return ReferenceStep(self, optimizer, y)

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: np.array(value) for name, value in self.params.items()}

    def load(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.params = matching(self.params, arrays)

    def _kernel(self, node: Node, inputs: Sequence[Any]) -> tuple:
        return self.framework.kernel(node.operator, len(node.outputs), inputs)[0](*inputs)

    def _values(self, inputs: Mapping[str, Any], used: list[str]) -> Values:
        """Inputs in their declared dtypes, and the parameters."""
        arrays = {
            name: np.asarray(inputs[name], self.structure.inputs[name].dtype)
            for name in used
            if name in inputs
        }
        self.structure.check_shapes(used, {name: value.shape for name, value in arrays.items()})
        return arrays | self.params


class ReferenceStep(TrainingStep):
    """One parameter after the other."""

    def __init__(self, executor: ReferenceExecutor, optimizer: Optimizer, y: str):
        self.executor, self.optimizer, self.y = executor, optimizer, y
        self.count = 0
        xp, params = executor.framework.xp, executor.params
        self.states = {
            name: optimizer.init(xp, params[name]) for name in executor.structure.trainable
        }

    def __call__(self, inputs: Mapping[str, Any]) -> Values:
        executor, xp = self.executor, self.executor.framework.xp
        outputs = executor.inference_and_backprop(inputs, self.y, self.count)
        self.count += 1
        step = np.asarray(self.count, np.float32)
        for name, grad in executor.gradients.items():
            param, state = self.optimizer.update(
                xp, executor.params[name], grad, self.states[name], step
            )
            executor.params[name], self.states[name] = param, state
        return outputs

    def state(self) -> dict[str, np.ndarray]:
        """The count of steps as "step", and "parameter.name" for every array of the optimizer's state."""
        arrays = {
            f"{name}.{key}": np.array(v)
            for name, state in self.states.items()
            for key, v in state.items()
        }
        return {"step": np.asarray(self.count, np.float32), **arrays}

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        given = matching(self.state(), state)
        self.count = int(given["step"])
        self.states = {
            name: {key: given[f"{name}.{key}"] for key in own} for name, own in self.states.items()
        }
