"""A training step as one ONNX graph, or as two; parameters and the optimizer's state never leave their buffers."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from ...contracts.executor import TrainingStep, Values, matching
from ...contracts.optimizer import Optimizer
from ...contracts.programs import Programs
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
from .buffers import Buffers, owned
from .values import to_numpy

if TYPE_CHECKING:
    from .executor import OnnxRuntimeExecutor

DTYPES = {
    "tensor(float)": "float32",
    "tensor(double)": "float64",
    "tensor(int64)": "int64",
    "tensor(bool)": "bool",
}


class OnnxRuntimeStep(TrainingStep):
    """Forward, backward and update in one session per shape of the batch; the second half has one of its own."""

    executor: "OnnxRuntimeExecutor"

    def __init__(self, executor: "OnnxRuntimeExecutor", optimizer: Optimizer, y: str):
        super().__init__(executor, optimizer, y)
        self._used = executor.needed(y)
        self._is_flat = is_flat(executor.structure, optimizer)
        state = self._first_state()
        self.buffers = Buffers(_owned(state), _owned(state))
        self._graphs: Programs[_Graph] = Programs()

    def __call__(self, inputs: Mapping[str, Any], first_row: int = 0) -> Values:
        executor = self.executor
        values = executor.natives(
            executor.keyed(inputs, self.count, first_row), self._used
        )
        shapes = {name: tuple(value.shape()) for name, value in values.items()}
        key = (
            executor.decided,
            executor.training,
            executor.framework.threads,
            *shapes.values(),
        )
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
        executor = self.executor
        key = ("update", executor.framework.threads)
        self._graphs.find(key, self._update_graph).run({}, self.count + 1)
        self._carry_statistics()
        self._swap()

    def _update_graph(self) -> "_Graph":
        executor = self.executor
        model = update_model(executor.framework.xp, executor.structure, self.optimizer)
        return _Graph(self, model, {})

    def state(self) -> dict[str, np.ndarray]:
        """The count of steps as "step", and "parameter.name" for every array of the optimizer's state."""
        arrays = {name: to_numpy(value) for name, value in self.buffers.current.items()}
        by_param = self._by_param(arrays) if self._is_flat else arrays
        return {"step": np.asarray(self.count, np.float32), **by_param}

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        arrays = matching("optimizer state", self.state(), state)
        self.count = int(arrays.pop("step"))
        by_buffer = self._by_buffer(arrays) if self._is_flat else arrays
        for name, value in by_buffer.items():
            self.buffers.write(name, value)

    @property
    def turns(self) -> tuple[int, int]:
        """Which sets are current: of the parameters, and of the state."""
        return self.executor.buffers.turn, self.buffers.turn

    def values_at(self, params_turn: int, state_turn: int) -> Values:
        """What a graph may read when these sets are current."""
        flat, gradient = self.executor.flat[params_turn], self.executor.flat_gradient
        values = {GRADIENT + name: value for name, value in gradient.tensors.items()}
        if self._is_flat:
            [values[FLAT]] = flat.vectors.values()
            [values[GRADIENT + FLAT]] = gradient.vectors.values()
        params = self.executor.buffers.sets[params_turn]
        return values | params | self.buffers.sets[state_turn]

    def _swap(self) -> None:
        self.executor.buffers.swap()
        self.buffers.swap()

    def _carry_statistics(self) -> None:
        """Running statistics, which the first half has moved, go into the set that is next."""
        executor = self.executor
        other = executor.buffers.sets[executor.buffers.turn ^ 1]
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
            executor._kernel_words,
        )

    def _first_state(self) -> dict[str, np.ndarray]:
        executor, xp = self.executor, self.executor.framework.xp
        if not any(state_kinds(xp, executor.structure, self.optimizer).values()):
            return {}
        session = executor.framework.session(
            state_model(xp, executor.structure, self.optimizer)
        )
        values: Values = dict(executor.params)
        if self._is_flat:
            [values[FLAT]] = executor.flat[executor.buffers.turn].vectors.values()
        names = [o.name for o in session.get_outputs()]
        feed = {i.name: values[i.name] for i in session.get_inputs()}
        results = session.run_with_ort_values(names, feed)
        return {
            name: to_numpy(value) for name, value in zip(names, results, strict=True)
        }

    def _by_param(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The state of the vector of all parameters as that of every parameter."""
        layout = self.executor.layout
        [dtype] = layout.sizes
        by_param: dict[str, np.ndarray] = {}
        for name, value in arrays.items():
            key = name.removeprefix(FLAT)
            if value.ndim:
                views = layout.views({dtype: value})
            else:  # a number is the same for all
                views = dict.fromkeys([slot.name for slot in layout.slots], value)
            by_param |= {param + key: view for param, view in views.items()}
        return by_param

    def _by_buffer(self, state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The other way round."""
        layout = self.executor.layout
        by_buffer = {}
        for name, value in self.buffers.current.items():
            key = name.removeprefix(FLAT)
            by_param = {slot.name: state[slot.name + key] for slot in layout.slots}
            if value.shape():
                zeros = np.zeros(value.shape(), next(iter(by_param.values())).dtype)
                for param, view in layout.views(
                    dict.fromkeys(layout.sizes, zeros)
                ).items():
                    np.copyto(view, by_param[param])
                by_buffer[name] = zeros
            else:
                by_buffer[name] = next(iter(by_param.values()))
        return by_buffer


class _Graph:
    """A session bound to all buffers: it reads the current ones and writes the others."""

    def __init__(self, step: OnnxRuntimeStep, model: onnx.ModelProto, values: Values):
        self.step = step
        self.session = step.executor.framework.session(model)
        self.inputs = {name: owned(to_numpy(value)) for name, value in values.items()}
        self.inputs[STEP] = owned(np.zeros((), np.float32))
        self.outputs = {
            o.name: owned(np.zeros(o.shape, DTYPES[o.type]))
            for o in self.session.get_outputs()
            if not o.name.startswith(NEW)
        }
        self._bindings: dict[tuple[int, int], Any] = {}

    def run(self, values: Values, count: int) -> Values:
        turns = self.step.turns
        if turns not in self._bindings:
            self._bindings[turns] = self._bind(*turns)
        for name, value in values.items():
            self.inputs[name].update_inplace(value)
        self.inputs[STEP].update_inplace(np.asarray(count, np.float32))
        self.session.run_with_iobinding(self._bindings[turns])
        return {name: owned(value.numpy()) for name, value in self.outputs.items()}

    def _bind(self, params_turn: int, state_turn: int) -> Any:
        """From these buffers to the others."""
        binding = self.session.io_binding()
        now = self.step.values_at(params_turn, state_turn) | self.inputs
        then = self.step.values_at(params_turn ^ 1, state_turn ^ 1)
        for i in self.session.get_inputs():
            binding.bind_ortvalue_input(i.name, now[i.name])
        for o in self.session.get_outputs():
            new = o.name.startswith(NEW)
            place = then[o.name.removeprefix(NEW)] if new else self.outputs[o.name]
            binding.bind_ortvalue_output(o.name, place)
        return binding


def _owned(arrays: Mapping[str, np.ndarray]) -> Values:
    return {name: owned(value) for name, value in arrays.items()}
