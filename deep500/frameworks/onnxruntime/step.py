"""A whole training step as one ONNX graph; parameters and the optimizer's state never leave ONNX Runtime's buffers."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...contracts.executor import TrainingStep, Values
from ...contracts.optimizer import Optimizer
from ...errors import Deep500Error
from ...onnx.recording.graphs import (
    FLAT,
    NEW,
    STEP,
    is_flat,
    state_kinds,
    state_model,
    step_model,
)
from .buffers import Buffers, owned

if TYPE_CHECKING:
    from .executor import OnnxRuntimeExecutor

DTYPES = {
    "tensor(float)": "float32",
    "tensor(double)": "float64",
    "tensor(int64)": "int64",
    "tensor(bool)": "bool",
}


class OnnxRuntimeStep(TrainingStep):
    """Forward, backward and update in one session per shape of the batch."""

    def __init__(self, executor: "OnnxRuntimeExecutor", optimizer: Optimizer, y: str):
        self.executor, self.optimizer, self.y = executor, optimizer, y
        self.count, self.used = 0, executor.needed(y)
        state = self._first_state()
        self.buffers = Buffers(state, state)
        self._graphs: dict[tuple, _Graph] = {}

    def __call__(self, inputs: Mapping[str, Any]) -> Values:
        executor = self.executor
        values = executor.natives(executor.keyed(inputs, self.count), self.used)
        key = (
            executor.training,
            executor.framework.threads,
            *(tuple(value.shape()) for value in values.values()),
        )
        if key not in self._graphs:
            self._graphs[key] = _Graph(self, values)
        found = self._graphs[key].run(values, self.count + 1)
        outputs = executor.complete(found, inputs, executor.structure.outputs)
        self.count += 1
        executor.buffers.turn ^= 1
        self.buffers.turn ^= 1
        return outputs

    def state(self) -> dict[str, np.ndarray]:
        """The count of steps as "step", and "parameter.name" for every array of the optimizer's state."""
        arrays = {name: value.numpy().copy() for name, value in self.buffers.current.items()}
        return {"step": np.asarray(self.count, np.float32), **self._by_param(arrays)}

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        own = self.state()
        if own.keys() != state.keys():
            raise Deep500Error(
                f"the optimizer's state is {', '.join(own)}; these came: {', '.join(state) or 'none'}"
            )
        if wrong := [name for name in own if own[name].shape != np.shape(state[name])]:
            raise Deep500Error(
                f"{wrong[0]!r} has the shape {own[wrong[0]].shape}, not {np.shape(state[wrong[0]])}"
            )
        self.buffers.load(self._by_buffer(state))
        self.count = int(state["step"])

    def _first_state(self) -> dict[str, np.ndarray]:
        executor = self.executor
        if not any(state_kinds(executor.framework.xp, executor.structure, self.optimizer).values()):
            return {}
        session = executor.framework.session(
            state_model(executor.framework.xp, executor.structure, self.optimizer)
        )
        given = executor.params | {FLAT: executor.buffers.vectors[executor.buffers.turn]}
        names = [o.name for o in session.get_outputs()]
        found = session.run_with_ort_values(
            names, {i.name: given[i.name] for i in session.get_inputs()}
        )
        return {name: value.numpy().copy() for name, value in zip(names, found, strict=True)}

    def _by_param(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The state of the vector of all parameters as that of every parameter."""
        if not is_flat(self.executor.structure, self.optimizer):
            return dict(arrays)
        params, found = self._trained(), {}
        ends = np.cumsum([p.size for p in params.values()])[:-1]
        for name, value in arrays.items():
            parts = (
                np.split(value, ends) if value.ndim else [value] * len(params)
            )  # a number is the same for all
            for part, (param, array) in zip(parts, params.items(), strict=True):
                found[param + name.removeprefix(FLAT)] = part.reshape(
                    array.shape if value.ndim else ()
                )
        return {
            name: found[name]
            for param in params
            for name in found
            if name.rpartition(".")[0] == param
        }

    def _by_buffer(self, state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The other way round."""
        if not is_flat(self.executor.structure, self.optimizer):
            return {name: value for name, value in state.items() if name != "step"}
        found = {}
        for name, value in self.buffers.current.items():
            parts = [np.ravel(state[param + name.removeprefix(FLAT)]) for param in self._trained()]
            found[name] = np.concatenate(parts) if value.shape() else parts[0].reshape(())
        return found

    def _trained(self) -> dict[str, np.ndarray]:
        structure = self.executor.structure
        return {name: structure.params[name] for name in structure.trainable}


class _Graph:
    """A session for one shape of the batch, bound to all buffers."""

    def __init__(self, step: OnnxRuntimeStep, values: Values):
        executor = step.executor
        shapes = {name: value.shape() for name, value in values.items()}
        model = step_model(
            executor.framework.xp,
            executor.structure,
            step.optimizer,
            step.y,
            shapes,
            executor.training,
        )
        self.session = executor.framework.session(model)
        self.params, self.state = executor.buffers, step.buffers
        self.inputs = {name: owned(value.numpy()) for name, value in values.items()}
        self.inputs[STEP] = owned(np.zeros((), np.float32))
        self.outputs = {
            o.name: owned(np.zeros(o.shape, DTYPES[o.type]))
            for o in self.session.get_outputs()
            if not o.name.startswith(NEW)
        }
        self.bindings: dict[tuple[int, int], Any] = {}

    def run(self, values: Values, count: int) -> Values:
        key = (self.params.turn, self.state.turn)
        if key not in self.bindings:
            self.bindings[key] = self._bind(*key)
        for name, value in values.items():
            self.inputs[name].update_inplace(value)
        self.inputs[STEP].update_inplace(np.asarray(count, np.float32))
        self.session.run_with_iobinding(self.bindings[key])
        return {name: owned(value.numpy()) for name, value in self.outputs.items()}

    def _bind(self, params: int, state: int) -> Any:
        """From these buffers to the others."""
        binding = self.session.io_binding()
        now = {
            **self.inputs,
            FLAT: self.params.vectors[params],
            **self.params.sets[params],
            **self.state.sets[state],
        }
        then = {
            FLAT: self.params.vectors[params ^ 1],
            **self.params.sets[params ^ 1],
            **self.state.sets[state ^ 1],
        }
        for i in self.session.get_inputs():
            binding.bind_ortvalue_input(i.name, now[i.name])
        for o in self.session.get_outputs():
            new = o.name.startswith(NEW)
            binding.bind_ortvalue_output(
                o.name, then[o.name.removeprefix(NEW)] if new else self.outputs[o.name]
            )
        return binding
