"""Any optimizer as three steps (new_input, prepare_param, update_rule), for programs with their own training loop."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..contracts.executor import Executor, TrainingStep
from ..contracts.native_optimizer import NativeOptimizer
from ..contracts.optimizer import Optimizer, State
from ..contracts.three_step import (
    ThreeStepOptimizer,
    attribute_state,
    checked_update,
    load_attribute_state,
)
from ..errors import Deep500Error, Unsupported
from ..frameworks import framework
from .given_gradients import batch_of, fed_executor


def three_steps(
    optimizer: Optimizer | ThreeStepOptimizer,
    executor: Executor,
    loss: str = "loss",
) -> "ThreeSteps":
    """The optimizer as an object with new_input(), prepare_param(name), update_rule(grad, param, name) and `loss`.

    `update_rule` takes NumPy arrays or tensors of the executor's framework and returns a NumPy array, which
    `executor.network.feed_tensor` accepts. State is kept by parameter name; `state()` and `load_state()` are for
    checkpoints. The optimizer that you pass is not changed.
    """
    if isinstance(optimizer, ThreeStepOptimizer):
        attached = optimizer.attached(executor, loss)
        return ThreeSteps(attached, executor, loss)
    if not isinstance(optimizer, Optimizer):
        raise Deep500Error(
            f"{optimizer!r} is no optimizer: give an instance, as in SGD(0.1)"
        )
    optimizer.check_framework(executor.framework.name)
    if isinstance(optimizer, NativeOptimizer):
        return ThreeSteps(NativeByParameter(optimizer), executor, loss)
    return ThreeSteps(RuleByParameter(optimizer), executor, loss)


class ThreeSteps:
    """Wraps an optimizer in three steps that accept arrays of any framework."""

    def __init__(self, rule: ThreeStepOptimizer, executor: Executor, loss: str):
        self.rule = rule
        self.executor = executor
        self.loss = loss

    def new_input(self) -> None:
        """Start a new batch."""
        self.rule.new_input()

    def prepare_param(self, param_name: str) -> None:
        """Let the optimizer change a parameter before the forward pass."""
        value = self.rule.prepare_param(param_name)
        if value is not None:
            self.executor.write(param_name, value)

    def update_rule(self, grad: Any, old_param: Any, param_name: str) -> np.ndarray:
        """The parameter after the step, as a NumPy array."""
        array = self.executor.framework.array
        param = np.array(array(old_param))
        gradient = np.asarray(array(grad)).astype(param.dtype, copy=True)
        updated = self.rule.update_rule(gradient, param, param_name)
        return checked_update(self.rule, param_name, param, updated)

    def state(self) -> dict[str, np.ndarray]:
        """The state of the optimizer after the steps so far, for a checkpoint."""
        if isinstance(self.rule, NativeByParameter):
            self.rule.save()
        return attribute_state(self.rule)

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        load_attribute_state(self.rule, state)
        if isinstance(self.rule, NativeByParameter):
            self.rule.restore()


class RuleByParameter(ThreeStepOptimizer):
    """An Optimizer's formula, computed by NumPy for one parameter at a time."""

    def __init__(self, optimizer: Optimizer):
        if optimizer.needs_all_gradients:
            raise Unsupported(
                f"{optimizer!r} looks at all gradients at once, and update_rule gets one at a time: "
                "leave clipping by the global norm out"
            )
        self.count = 0
        self.states: dict[str, State] = {}
        self._rule = lambda: optimizer  # functions are not saved with the state

    def new_input(self) -> None:
        self.count += 1

    def update_rule(
        self, grad: np.ndarray, old_param: np.ndarray, param_name: str
    ) -> np.ndarray:
        xp, optimizer = framework("reference").xp, self._rule()
        if param_name not in self.states:
            initial_state = optimizer.init_named(xp, param_name, old_param)
            self.states[param_name] = _copies(initial_state)
        step = np.asarray(max(self.count, 1), np.float32)
        params, gradients = {param_name: old_param}, {param_name: grad}
        states = {param_name: self.states[param_name]}
        [update] = optimizer.updates(xp, params, gradients, states, step)
        _, new_param, new_state = update
        self.states[param_name] = _copies(new_state)
        return new_param


class NativeByParameter(ThreeStepOptimizer):
    """A framework's own optimizer, which runs on a separate network for every parameter."""

    def __init__(self, optimizer: NativeOptimizer):
        # the states of all steps
        self.saved: dict[str, dict[str, np.ndarray]] = {}
        self.params: dict[str, np.ndarray] = {}
        steps: dict[str, TrainingStep] = {}
        self._steps = lambda: steps  # functions are not saved with the state
        self._optimizer = lambda: optimizer

    def update_rule(
        self, grad: np.ndarray, old_param: np.ndarray, param_name: str
    ) -> np.ndarray:
        step = self._step(param_name, old_param)
        step.executor.write(param_name, old_param)
        batch = batch_of({param_name: grad}, old_param.dtype.name)
        step(batch)
        return step.executor.arrays()[param_name]

    def save(self) -> None:
        """Copy the states of all parameters into attributes."""
        self.saved = {}
        self.params = {}
        for name, step in self._steps().items():
            self.saved[name] = step.state()
            self.params[name] = step.executor.arrays()[name]

    def restore(self) -> None:
        """Load the states of all parameters from the attributes."""
        for name, state in self.saved.items():
            step = self._step(name, self.params[name])
            step.load_state(state)

    def _step(self, name: str, param: np.ndarray) -> TrainingStep:
        steps = self._steps()
        if name not in steps:
            optimizer = self._optimizer()
            dtype = param.dtype.name
            executor = fed_executor(optimizer.framework, {name: param}, dtype)
            steps[name] = executor.training_step(optimizer)
        return steps[name]


def _copies(state: State) -> State:
    """The state with copies of its arrays."""
    return {key: np.array(value) for key, value in state.items()}
