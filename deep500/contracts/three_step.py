"""Optimizers as plain classes with state in attributes: the three-step and the update-rule abstraction."""

import copy
import json
from collections.abc import Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ..errors import Deep500Error, errors_of_user_code, lacking
from .executor import Executor, NetworkView, TrainingStep, Values

CONSTANTS = (
    str,
    type,
    BuiltinFunctionType,
    FunctionType,
    MethodType,
    ModuleType,
)
# the array that describes how the others form the state
STRUCTURE = "structure"
NOT_STATE = ("executor", "network", "loss")


class ThreeStepOptimizer:
    """An optimizer with methods for three moments of a training step; it keeps its state in attributes.

    new_input()                 Called when a new batch begins.
    prepare_param(param_name)   Called before the forward pass, for every parameter. It may read and set the parameter
                                with `self.network.fetch_tensors([name])` and `self.network.feed_tensor(name, value)`,
                                or return its new value.
    update_rule(grad, old_param, param_name)   Returns the parameter after the step.

    Gradients and parameters are NumPy arrays on every framework. The state consists of the attributes: numbers, arrays,
    and dictionaries, lists and tuples of these; checkpoints include it. A training step works on a copy of the object
    that it is given, so that the same object can begin a second run.
    """

    loss = "loss"  # the output that is differentiated
    executor: Executor | None = None
    network: "HostNetworkView | None" = None

    def new_input(self) -> None:
        """Nothing to do by default."""

    def prepare_param(self, param_name: str) -> Any:
        """Nothing to do by default."""

    def update_rule(
        self, grad: np.ndarray, old_param: np.ndarray, param_name: str
    ) -> np.ndarray:
        raise lacking(self, "update_rule")

    def native(self, framework: str) -> None:
        """None: no framework has a kernel for it."""

    def attached(self, executor: Executor, loss: str = "loss") -> "ThreeStepOptimizer":
        """A copy of this optimizer for the parameters of an executor."""
        shared = {id(value): value for value in (self.executor, self.network)}
        attached = copy.deepcopy(self, shared)
        attached.executor = executor
        attached.network = HostNetworkView(executor)
        attached.loss = loss
        return attached


class UpdateRuleOptimizer(ThreeStepOptimizer):
    """An optimizer that consists of an update rule only."""


class HostNetworkView(NetworkView):
    """An executor's network that returns its tensors as copies in NumPy arrays."""

    def _value(self, name: str) -> np.ndarray:
        native = super()._value(name)
        return np.array(self._executor.framework.array(native))


class ThreeStepTraining(TrainingStep):
    """A training step with a ThreeStepOptimizer on any framework; parameters are copied to the host and back."""

    state_grows = True

    def __init__(self, executor: Executor, optimizer: ThreeStepOptimizer, y: str):
        super().__init__(executor, optimizer.attached(executor, y), y)
        self.rule: ThreeStepOptimizer = self.optimizer

    def __call__(self, inputs: Mapping[str, Any], first_row: int = 0) -> Values:
        outputs = self.backprop(inputs, first_row)
        self.update()
        return outputs

    def backprop(self, inputs: Mapping[str, Any], first_row: int = 0) -> Values:
        with errors_of_user_code("the optimizer"):
            self.rule.new_input()
        for name in self.executor.structure.trainable:
            with errors_of_user_code("the optimizer"):
                value = self.rule.prepare_param(name)
            if value is not None:
                self.executor.write(name, value)
        return super().backprop(inputs, first_row)

    def _update(self) -> None:
        executor = self.executor
        array = executor.framework.array
        for name, gradient in {**executor.gradients}.items():
            param = np.array(array(executor.params[name]))
            grad = np.array(array(gradient))
            with errors_of_user_code("the optimizer"):
                new = self.rule.update_rule(grad, param, name)
            executor.write(name, checked_update(self.rule, name, param, new))

    def state(self) -> dict[str, np.ndarray]:
        """The count of steps as "step", and the attributes of the optimizer."""
        step = np.asarray(self.count, np.float32)
        return {"step": step, **attribute_state(self.rule)}

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        load_attribute_state(self.rule, state)
        self.count = int(state["step"])


def checked_update(
    rule: ThreeStepOptimizer, name: str, param: np.ndarray, new: object
) -> np.ndarray:
    """The value that an update rule returned, in the dtype of the parameter; a Deep500Error if its shape differs."""
    owner = type(rule).__name__
    if new is None:
        raise Deep500Error(
            f"update_rule of {owner} returns nothing: return the new {name!r}"
        )
    value = np.asarray(new)
    if value.shape != param.shape:
        raise Deep500Error(
            f"update_rule of {owner} returns {value.shape} for {name!r}, which has the shape {param.shape}"
        )
    return value.astype(param.dtype, copy=False)


def attribute_state(optimizer: ThreeStepOptimizer) -> dict[str, np.ndarray]:
    """All attributes that can change, as arrays; one of the arrays describes how the others form the attributes."""
    owner = type(optimizer).__name__
    arrays: list[np.ndarray] = []
    structure = {}
    for name, value in vars(optimizer).items():
        if name not in NOT_STATE:
            structure[name] = _encoded(value, arrays, f"{owner}.{name}")
    text = json.dumps(structure).encode()
    state = {STRUCTURE: np.frombuffer(text, np.uint8).copy()}
    for number, array in enumerate(arrays):
        state[f"array {number}"] = array
    return state


def load_attribute_state(
    optimizer: ThreeStepOptimizer, state: Mapping[str, np.ndarray]
) -> None:
    """Set the attributes from a result of `attribute_state`; a Deep500Error if it is none."""
    owner = type(optimizer).__name__
    try:
        text = np.asarray(state[STRUCTURE], np.uint8).tobytes()
        structure = json.loads(text)
        values = {key: _decoded(form, state) for key, form in structure.items()}
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise Deep500Error(
            f"the checkpoint holds no state of {owner}: {error}"
        ) from None
    for key in [*vars(optimizer)]:
        if key not in NOT_STATE and key not in structure:
            delattr(optimizer, key)
    for key, value in values.items():
        if value is not UnchangedAttribute:
            setattr(optimizer, key, value)


class UnchangedAttribute:
    """Stands for an attribute that a checkpoint does not change, such as a function."""


def _encoded(value: Any, arrays: list[np.ndarray], where: str) -> Any:
    """The value as JSON; arrays are appended to `arrays` and replaced by their numbers."""
    if isinstance(value, dict):
        pairs = [[key, _encoded(item, arrays, where)] for key, item in value.items()]
        if all(isinstance(key, str | int) for key in value):
            return {"dict": pairs}
    if isinstance(value, list | tuple):
        items = [_encoded(item, arrays, where) for item in value]
        return {type(value).__name__: items}
    if value is None or isinstance(value, bool | int | float):
        return {"value": value}
    if isinstance(value, CONSTANTS):
        return {"constant": True}
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biuf":
        arrays.append(np.array(value))
        return {"array": len(arrays) - 1}
    type_name = type(value).__name__
    raise Deep500Error(
        f"{where} is a {type_name}, which a checkpoint cannot hold: keep state in numbers, "
        "NumPy arrays, and dictionaries, lists and tuples of these"
    )


def _decoded(form: Mapping[str, Any], state: Mapping[str, np.ndarray]) -> Any:
    """The inverse of `_encoded`."""
    [(kind, content)] = form.items()
    if kind == "dict":
        return {key: _decoded(item, state) for key, item in content}
    if kind == "list":
        return [_decoded(item, state) for item in content]
    if kind == "tuple":
        return tuple(_decoded(item, state) for item in content)
    if kind == "array":
        return np.array(state[f"array {content}"])
    if kind == "constant":
        return UnchangedAttribute
    return content
