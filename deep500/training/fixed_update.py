"""An optimizer's update by its formula, in functions with fixed bits, on the memory of the parameters."""

from collections.abc import Iterator, Mapping

import numpy as np

from ..contracts.executor import Executor, matching
from ..contracts.modifier import Modifier
from ..contracts.optimizer import Optimizer, State
from ..contracts.schedule import Schedule
from ..definition import Definition
from ..fixed.namespace import FixedNamespace, NotFixed

# where formulas are ours
ROOMS = ("deep500.optimizers.", "deep500.schedules.", "deep500.contracts.")
# formulas with operators that NumPy computes as the processor likes best
PRODUCTS = ("Muon",)


class FixedUpdate:
    """Raises NotFixed for an optimizer whose formula has functions without fixed bits.

    Elementwise formulas are applied to the flat buffers, others to one parameter after the other.
    """

    def __init__(self, executor: Executor, optimizer: Optimizer):
        _check(optimizer)
        self.executor = executor
        self.optimizer = optimizer
        self.layout = executor.layout
        self.xp = FixedNamespace()
        self._try()
        self.states: dict[str, State] = {}
        for name, param in self._pieces(executor.flat_params()).items():
            first = optimizer.init_named(self.xp, name, param)
            self.states[name] = {key: np.array(value) for key, value in first.items()}

    def __call__(self, count: int) -> None:
        """Step number `count`, on the executor's gradients."""
        flat = self.executor.flat_params()
        params = self._pieces(flat)
        gradients = self._pieces(self.executor.flat_gradients())
        step = np.asarray(count, np.float32)
        updates = self.optimizer.updates(self.xp, params, gradients, self.states, step)
        for name, new, state in updates:
            # the new state may share memory with the parameter, which is changed in place
            for key, value in state.items():
                if np.may_share_memory(value, params[name]):
                    state = {**state, key: np.array(value)}
            self.states[name] = state
            np.copyto(params[name], new)

    def _pieces(self, buffers: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """What the formula is applied to: flat buffers by dtype, or parameters by name."""
        if self.optimizer.elementwise:
            return dict(buffers)
        return self.layout.views(buffers)

    def _try(self) -> None:
        """Update single numbers, which shows what functions the formula needs."""
        names = self.executor.structure.trainable
        params = {name: np.ones(1, np.float32) for name in names}
        states = {}
        for name, param in params.items():
            states[name] = self.optimizer.init_named(self.xp, name, param)
        step = np.asarray(1, np.float32)
        updates = self.optimizer.updates(self.xp, params, params, states, step)
        for _ in updates:
            pass

    def state(self) -> dict[str, np.ndarray]:
        """Every array of the state as "parameter.array"."""
        arrays = {}
        for name, state in self._by_param().items():
            for key, value in state.items():
                arrays[f"{name}.{key}"] = np.array(value)
        return arrays

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        arrays = matching("optimizer state", self.state(), state)
        for piece, own in self.states.items():
            for key in own:
                own[key] = self._loaded(piece, key, arrays)

    def _loaded(
        self, piece: str, key: str, arrays: Mapping[str, np.ndarray]
    ) -> np.ndarray:
        if not self.optimizer.elementwise:
            return arrays[f"{piece}.{key}"]
        names = self.executor.structure.trainable
        by_param = {name: arrays[f"{name}.{key}"] for name in names}
        first = by_param[names[0]]
        if first.shape != self.executor.spec(names[0]).shape:
            return first  # a number, the same for all
        return self.layout.gather(by_param)[piece]

    def _by_param(self) -> dict[str, State]:
        if not self.optimizer.elementwise:
            return self.states
        pieces = dict(self.executor.flat_params())
        names = self.executor.structure.trainable
        by_param: dict[str, State] = {name: {} for name in names}
        keys = next(iter(self.states.values()), {})
        for key in keys:
            values = {dtype: np.asarray(self.states[dtype][key]) for dtype in pieces}
            is_flat = all(values[d].shape == pieces[d].shape for d in pieces)
            views = self.layout.views(values) if is_flat else {}
            for name, own in by_param.items():
                own[key] = views[name] if is_flat else next(iter(values.values()))
        return by_param


def _check(optimizer: Optimizer) -> None:
    """Raise NotFixed if a formula is not ours, or multiplies matrices."""
    for part in _definitions(optimizer):
        name = type(part).__name__
        if not type(part).__module__.startswith(ROOMS) or name in PRODUCTS:
            raise NotFixed(f"the formula of {name} has no kernel with fixed bits")


def _definitions(optimizer: Definition) -> Iterator[Definition]:
    """The optimizer with all modifiers, schedules and optimizers that it is made of."""
    yield optimizer
    for value in optimizer.settings.values():
        values = value if isinstance(value, tuple | list) else [value]
        for part in values:
            if isinstance(part, Optimizer | Modifier | Schedule):
                yield from _definitions(part)
