"""Any optimizer as three steps (new_input, prepare_param, update_rule), for programs that do a step by themselves."""

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
    optimizer: Optimizer | ThreeStepOptimizer, executor: Executor, loss: str = "loss"
) -> "ThreeSteps":
    """The optimizer as an object with new_input(), prepare_param(name), update_rule(grad, param, name) and `loss`.

    `update_rule` takes NumPy arrays or tensors of the executor's framework and returns a NumPy array, which
    `executor.network.feed_tensor` takes. State is kept by the name of the parameter; `state()` and `load_state()` are
    for checkpoints. The optimizer that is given stays as it is.
    """
    if isinstance(optimizer, ThreeStepOptimizer):
        return ThreeSteps(optimizer.attached(executor, loss), executor, loss)
    if not isinstance(optimizer, Optimizer):
        raise Deep500Error(
            f"{optimizer!r} is no optimizer: give an instance, as in SGD(0.1)"
        )
    optimizer.check_framework(executor.framework.name)
    if isinstance(optimizer, NativeOptimizer):
        return ThreeSteps(NativeByParameter(optimizer), executor, loss)
    return ThreeSteps(RuleByParameter(optimizer), executor, loss)


class ThreeSteps:
    """Three steps over any optimizer, for arrays of any framework."""

    def __init__(self, rule: ThreeStepOptimizer, executor: Executor, loss: str):
        self.rule = rule
        self.executor = executor
        self.loss = loss

    def new_input(self) -> None:
        """A new batch begins."""
        self.rule.new_input()

    def prepare_param(self, param_name: str) -> None:
        """What the optimizer does to a parameter before the forward pass."""
        value = self.rule.prepare_param(param_name)
        if value is not None:
            self.executor.write(param_name, value)

    def update_rule(self, grad: Any, old_param: Any, param_name: str) -> np.ndarray:
        """The parameter after the step, as a NumPy array."""
        array = self.executor.framework.array
        param = np.array(array(old_param))
        gradient = np.asarray(array(grad)).astype(param.dtype, copy=True)
        new = self.rule.update_rule(gradient, param, param_name)
        return checked_update(self.rule, param_name, param, new)

    def state(self) -> dict[str, np.ndarray]:
        """For a checkpoint: everything that the optimizer knows from the steps so far."""
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
        self._rule = lambda: optimizer  # a function is no part of the state

    def new_input(self) -> None:
        self.count += 1

    def update_rule(
        self, grad: np.ndarray, old_param: np.ndarray, param_name: str
    ) -> np.ndarray:
        xp, optimizer = framework("reference").xp, self._rule()
        if param_name not in self.states:
            first = optimizer.init_named(xp, param_name, old_param)
            self.states[param_name] = _copies(first)
        step = np.asarray(max(self.count, 1), np.float32)
        state = {param_name: self.states[param_name]}
        [(_, new, new_state)] = optimizer.updates(
            xp, {param_name: old_param}, {param_name: grad}, state, step
        )
        self.states[param_name] = _copies(new_state)
        return new


class NativeByParameter(ThreeStepOptimizer):
    """A framework's own optimizer, which gets a network of its own for every parameter."""

    def __init__(self, optimizer: NativeOptimizer):
        self.saved: dict[str, dict[str, np.ndarray]] = {}  # the states of all steps
        self.params: dict[str, np.ndarray] = {}
        steps: dict[str, TrainingStep] = {}
        self._steps = lambda: steps  # a function is no part of the state
        self._optimizer = lambda: optimizer

    def update_rule(
        self, grad: np.ndarray, old_param: np.ndarray, param_name: str
    ) -> np.ndarray:
        step = self._step(param_name, old_param)
        step.executor.write(param_name, old_param)
        step(batch_of({param_name: grad}, old_param.dtype.name))
        return step.executor.arrays()[param_name]

    def save(self) -> None:
        """Note the states of all parameters in attributes."""
        self.saved = {name: step.state() for name, step in self._steps().items()}
        self.params = {
            name: s.executor.arrays()[name] for name, s in self._steps().items()
        }

    def restore(self) -> None:
        """Take the states from the attributes."""
        for name, state in self.saved.items():
            self._step(name, self.params[name]).load_state(state)

    def _step(self, name: str, param: np.ndarray) -> TrainingStep:
        steps = self._steps()
        if name not in steps:
            optimizer = self._optimizer()
            executor = fed_executor(
                optimizer.framework, {name: param}, param.dtype.name
            )
            steps[name] = executor.training_step(optimizer)
        return steps[name]


def _copies(state: State) -> State:
    """The state in arrays of its own."""
    return {key: np.array(value) for key, value in state.items()}
