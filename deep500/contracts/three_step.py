"""Optimizers as plain classes with state in attributes: the three-step and the update-rule abstraction."""

import copy
import json
from collections.abc import Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ..errors import Deep500Error, lacking
from .executor import Executor, NetworkView, TrainingStep, Values

CONSTANTS = (str, type, BuiltinFunctionType, FunctionType, MethodType, ModuleType)
STRUCTURE = (
    "structure"  # the name of the array that says how the other ones make up the state
)


class ThreeStepOptimizer:
    """An optimizer that does its own thing at three moments of a training step; it keeps its state in attributes.

    new_input()                 A new batch begins.
    prepare_param(param_name)   Before the forward pass, for every parameter. `self.network.fetch_tensors([name])` and
                                `self.network.feed_tensor(name, value)` read and set it; so does a value returned.
    update_rule(grad, old_param, param_name)   Returns the parameter after the step.

    Gradients and parameters are NumPy arrays on every framework. State is what attributes hold: numbers, arrays, and
    dictionaries, lists and tuples of these; a checkpoint keeps it. A training step works on a copy of the object that
    it is given, so that the same object can begin a second run.
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
        """No framework has a kernel for it."""

    def attached(self, executor: Executor, loss: str = "loss") -> "ThreeStepOptimizer":
        """A copy of this optimizer for the parameters of an executor."""
        shared = {id(value): value for value in (self.executor, self.network)}
        own = copy.deepcopy(self, shared)
        own.executor = executor
        own.network = HostNetworkView(executor)
        own.loss = loss
        return own


class UpdateRuleOptimizer(ThreeStepOptimizer):
    """An optimizer that is an update rule and nothing else."""


class HostNetworkView(NetworkView):
    """An executor's network, whose tensors are handed out as NumPy arrays that are the caller's own."""

    def _value(self, name: str) -> np.ndarray:
        return np.array(self._executor.framework.array(super()._value(name)))


class ThreeStepTraining(TrainingStep):
    """A training step by a ThreeStepOptimizer, on any framework; parameters pass through the host's memory."""

    state_grows = True

    def __init__(self, executor: Executor, optimizer: ThreeStepOptimizer, y: str):
        super().__init__(executor, optimizer.attached(executor, y), y)
        self.rule: ThreeStepOptimizer = self.optimizer

    def __call__(self, inputs: Mapping[str, Any], first_row: int = 0) -> Values:
        outputs = self.backprop(inputs, first_row)
        self.update()
        return outputs

    def backprop(self, inputs: Mapping[str, Any], first_row: int = 0) -> Values:
        self.rule.new_input()
        for name in self.executor.structure.trainable:
            value = self.rule.prepare_param(name)
            if value is not None:
                self.executor.write(name, value)
        return super().backprop(inputs, first_row)

    def _update(self) -> None:
        executor = self.executor
        array = executor.framework.array
        for name, gradient in {**executor.gradients}.items():
            param = np.array(array(executor.params[name]))
            new = self.rule.update_rule(np.array(array(gradient)), param, name)
            executor.write(name, checked_update(self.rule, name, param, new))

    def state(self) -> dict[str, np.ndarray]:
        """The count of steps as "step", and the attributes of the optimizer."""
        return {
            "step": np.asarray(self.count, np.float32),
            **attribute_state(self.rule),
        }

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        load_attribute_state(self.rule, state)
        self.count = int(state["step"])


def checked_update(
    rule: ThreeStepOptimizer, name: str, param: np.ndarray, new: object
) -> np.ndarray:
    """What an update rule returned, in the dtype of the parameter; a Deep500Error if it has another shape."""
    kind = type(rule).__name__
    if new is None:
        raise Deep500Error(
            f"update_rule of {kind} returns nothing: return the new {name!r}"
        )
    value = np.asarray(new)
    if value.shape != param.shape:
        raise Deep500Error(
            f"update_rule of {kind} returns {value.shape} for {name!r}, which has the shape {param.shape}"
        )
    return value.astype(param.dtype, copy=False)


def attribute_state(optimizer: ThreeStepOptimizer) -> dict[str, np.ndarray]:
    """All attributes that can change, as arrays; one of them says how they belong together."""
    arrays: list[np.ndarray] = []
    structure = {}
    for name, value in vars(optimizer).items():
        if name not in ("executor", "network", "loss"):
            structure[name] = _encoded(
                value, arrays, f"{type(optimizer).__name__}.{name}"
            )
    text = json.dumps(structure).encode()
    numbered = {f"array {number}": array for number, array in enumerate(arrays)}
    return {STRUCTURE: np.frombuffer(text, np.uint8).copy(), **numbered}


def load_attribute_state(
    optimizer: ThreeStepOptimizer, state: Mapping[str, np.ndarray]
) -> None:
    """Give the attributes back what `attribute_state` has read from them."""
    name = type(optimizer).__name__
    try:
        structure = json.loads(np.asarray(state[STRUCTURE], np.uint8).tobytes())
        values = {key: _decoded(form, state) for key, form in structure.items()}
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise Deep500Error(
            f"the checkpoint holds no state of {name}: {error}"
        ) from None
    for key in [*vars(optimizer)]:
        if key not in ("executor", "network", "loss") and key not in structure:
            delattr(optimizer, key)
    for key, value in values.items():
        if value is not Constant:
            setattr(optimizer, key, value)


class Constant:
    """Stands for an attribute that a checkpoint leaves as it is, such as a function."""


def _encoded(value: Any, arrays: list[np.ndarray], where: str) -> Any:
    """The value as JSON, its arrays replaced by their numbers in `arrays`."""
    if isinstance(value, dict):
        pairs = [[key, _encoded(item, arrays, where)] for key, item in value.items()]
        if all(isinstance(key, str | int) for key in value):
            return {"dict": pairs}
    if isinstance(value, list | tuple):
        return {type(value).__name__: [_encoded(item, arrays, where) for item in value]}
    if value is None or isinstance(value, bool | int | float):
        return {"value": value}
    if isinstance(value, CONSTANTS):
        return {"constant": True}
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biuf":
        arrays.append(np.array(value))
        return {"array": len(arrays) - 1}
    raise Deep500Error(
        f"{where} is a {type(value).__name__}, which a checkpoint cannot hold: keep state in numbers, "
        "NumPy arrays, and dictionaries, lists and tuples of these"
    )


def _decoded(form: Mapping[str, Any], state: Mapping[str, np.ndarray]) -> Any:
    [(kind, content)] = form.items()
    if kind == "dict":
        return {key: _decoded(item, state) for key, item in content}
    if kind in ("list", "tuple"):
        items = [_decoded(item, state) for item in content]
        return items if kind == "list" else tuple(items)
    if kind == "array":
        return np.array(state[f"array {content}"])
    return Constant if kind == "constant" else content
