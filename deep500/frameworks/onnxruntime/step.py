"""A training step as one ONNX graph or as two; parameters and the optimizer's state never leave their buffers."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnxruntime import OrtValue  # type: ignore[import-untyped]

from ...contracts.executor import TrainingStep, Values, matching
from ...contracts.optimizer import Optimizer
from ...graph.programs import Programs
from ...onnx.recording.graphs import (
    FLAT,
    GRADIENT,
    NEW,
    STEP,
    is_flat,
    state_kinds,
    state_model,
    step_model,
    update_model,
)
from .buffers import Buffers
from .values import from_numpy, moved, to_numpy

if TYPE_CHECKING:
    from .executor import OnnxRuntimeExecutor

DTYPES = {
    "tensor(float)": "float32",
    "tensor(double)": "float64",
    "tensor(int64)": "int64",
    "tensor(bool)": "bool",
}


class OnnxRuntimeStep(TrainingStep):
    """Runs forward, backward and update in one session per shape of the batch, and `update` alone in another one."""

    executor: "OnnxRuntimeExecutor"

    def __init__(self, executor: "OnnxRuntimeExecutor", optimizer: Optimizer, y: str):
        super().__init__(executor, optimizer, y)
        self._used = executor.needed(y)
        recorded = (executor.framework.xp, executor.structure, optimizer)
        self._is_flat = is_flat(*recorded)
        state = self._first_state()
        self.buffers = Buffers(self._owned(state), self._owned(state))
        self._graphs: Programs[_Graph] = Programs()

    def __call__(self, inputs: Mapping[str, Any], first_row: int = 0) -> Values:
        executor = self.executor
        keyed = executor.keyed(inputs, self.count, first_row)
        values = executor.natives(keyed, self._used)
        shapes = {name: tuple(value.shape()) for name, value in values.items()}
        threads = executor.framework.threads
        key = (executor.decided, executor.training, threads, *shapes.values())
        graph = self._graphs.find(
            key, lambda: _Graph(self, self._whole_model(shapes), values)
        )
        results = graph.run(values, self.count + 1)
        outputs = executor.complete(results, inputs, executor.structure.outputs)
        self.count += 1
        executor.generation += 1
        self._swap()
        return outputs

    def _update(self) -> None:
        key = ("update", self.executor.framework.threads)
        graph = self._graphs.find(key, self._update_graph)
        graph.run({}, self.count + 1)
        self._carry_statistics()
        self._swap()

    def _update_graph(self) -> "_Graph":
        executor = self.executor
        model = update_model(executor.framework.xp, executor.structure, self.optimizer)
        return _Graph(self, model, {})

    def state(self) -> dict[str, np.ndarray]:
        """Return the number of steps as "step", and every array of the optimizer's state as "parameter.name"."""
        arrays = {}
        for name, value in self.buffers.current.items():
            arrays[name] = to_numpy(value)
        if self._is_flat:
            arrays = self._by_param(arrays)
        return {"step": np.asarray(self.count, np.float32), **arrays}

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        arrays = matching("optimizer state", self.state(), state)
        self.count = int(arrays.pop("step"))
        if self._is_flat:
            arrays = self._by_buffer(arrays)
        for name, value in arrays.items():
            self.buffers.write(name, value)

    @property
    def turns(self) -> tuple[int, int]:
        """The numbers of the current sets of parameters and of state."""
        return self.executor.buffers.turn, self.buffers.turn

    def values_at(self, params_turn: int, state_turn: int) -> Values:
        """Return the values that a graph may read when these sets are current."""
        executor = self.executor
        gradient = executor.flat_gradient
        values: Values = {}
        for name, value in gradient.tensors.items():
            values[GRADIENT + name] = value
        if self._is_flat:
            [values[FLAT]] = executor.flat[params_turn].vectors.values()
            [values[GRADIENT + FLAT]] = gradient.vectors.values()
        params = executor.buffers.sets[params_turn]
        return values | params | self.buffers.sets[state_turn]

    def _swap(self) -> None:
        self.executor.buffers.swap()
        self.buffers.swap()

    def _carry_statistics(self) -> None:
        """Copy running statistics, which `backprop` has updated, into the set that becomes current."""
        executor = self.executor
        buffers = executor.buffers
        other = buffers.sets[buffers.turn ^ 1]
        for name in executor.structure.state_updates:
            other[name].update_inplace(executor.params[name])

    def _whole_model(self, shapes: dict[str, tuple[int, ...]]) -> onnx.ModelProto:
        executor = self.executor
        return step_model(
            executor.framework.xp,
            executor.structure,
            self.optimizer,
            self.y,
            shapes,
            executor.training,
            executor._kernel_kinds,
        )

    def _first_state(self) -> dict[str, np.ndarray]:
        executor = self.executor
        framework = executor.framework
        recorded = (framework.xp, executor.structure, self.optimizer)
        if not any(state_kinds(*recorded).values()):
            return {}
        session = framework.session(state_model(*recorded))
        values: Values = dict(executor.params)
        if self._is_flat:
            flat = executor.flat[executor.buffers.turn]
            [values[FLAT]] = flat.vectors.values()
        names = [o.name for o in session.get_outputs()]
        feed = {i.name: values[i.name] for i in session.get_inputs()}
        results = session.run_with_ort_values(names, feed)
        return dict(zip(names, map(to_numpy, results), strict=True))

    def _owned(self, arrays: Mapping[str, np.ndarray]) -> Values:
        owned = self.executor.framework.owned
        return {name: owned(array) for name, array in arrays.items()}

    def _by_param(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Convert the state of the vector of all parameters to the state of every parameter."""
        layout = self.executor.layout
        [dtype] = layout.sizes
        params = [slot.name for slot in layout.slots]
        by_param: dict[str, np.ndarray] = {}
        for name, value in arrays.items():
            key = name.removeprefix(FLAT)
            if value.ndim:
                views = layout.views({dtype: value})
            else:  # a scalar is the same for all
                views = dict.fromkeys(params, value)
            for param, view in views.items():
                by_param[param + key] = view
        return by_param

    def _by_buffer(self, state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Convert the state of every parameter to the state of the vector of all parameters."""
        layout = self.executor.layout
        by_buffer = {}
        for name, value in self.buffers.current.items():
            key = name.removeprefix(FLAT)
            by_param = {}
            for slot in layout.slots:
                by_param[slot.name] = state[slot.name + key]
            first = next(iter(by_param.values()))
            shape = value.shape()
            if not shape:
                by_buffer[name] = first
                continue
            vector = np.zeros(shape, first.dtype)
            views = layout.views(dict.fromkeys(layout.sizes, vector))
            for param, view in views.items():
                np.copyto(view, by_param[param])
            by_buffer[name] = vector
        return by_buffer


class _Graph:
    """A session bound to all buffers: it reads the current sets and writes the others."""

    def __init__(self, step: OnnxRuntimeStep, model: onnx.ModelProto, values: Values):
        self.step = step
        framework = step.executor.framework
        self._owned, self._provider = framework.owned, framework.provider
        self.session = framework.session(model)
        self.inputs: Values = {}
        for name, value in values.items():
            self.inputs[name] = self._owned(to_numpy(value))
        self.inputs[STEP] = self._owned(np.zeros((), np.float32))
        self.outputs: Values = {}
        for output in self.session.get_outputs():
            if not output.name.startswith(NEW):
                zeros = np.zeros(output.shape, DTYPES[output.type])
                self.outputs[output.name] = self._owned(zeros)
        self._bindings: dict[tuple[int, int], Any] = {}

    def run(self, values: Values, count: int) -> Values:
        turns = self.step.turns
        if turns not in self._bindings:
            self._bindings[turns] = self._bind(*turns)
        for name, value in values.items():
            self.inputs[name].update_inplace(value)
        self.inputs[STEP].update_inplace(np.asarray(count, np.float32))
        self.session.run_with_iobinding(self._bindings[turns])
        return {name: self._copy(value) for name, value in self.outputs.items()}

    def _copy(self, value: OrtValue) -> OrtValue:
        """A copy where the value is: the next step writes into its memory."""
        if self._provider.in_host_memory:
            return from_numpy(np.array(value.numpy(), order="C"))
        return moved(value, *self._provider.place)

    def _bind(self, params_turn: int, state_turn: int) -> Any:
        """A binding that reads these sets and writes the others."""
        binding = self.session.io_binding()
        current = self.step.values_at(params_turn, state_turn) | self.inputs
        following = self.step.values_at(params_turn ^ 1, state_turn ^ 1)
        for session_input in self.session.get_inputs():
            name = session_input.name
            binding.bind_ortvalue_input(name, current[name])
        for session_output in self.session.get_outputs():
            name = session_output.name
            if name.startswith(NEW):
                place = following[name.removeprefix(NEW)]
            else:
                place = self.outputs[name]
            binding.bind_ortvalue_output(name, place)
        return binding
