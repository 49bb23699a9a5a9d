"""The optimizer contract: two pure functions, written once for any namespace."""

import copy
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

from ..definition import Definition
from ..errors import (
    Deep500Error,
    Unsupported,
    errors_of_user_code,
    lacking,
)
from .kernels import own_kernel
from .schedule import Schedule

if TYPE_CHECKING:
    from .modifier import Modifier

    Rate = Any  # in a formula it is a number or an array
else:
    # a learning rate: the same in every step, or a schedule
    Rate = float | Schedule

State = dict[str, Any]  # arrays by name
# a parameter's name, its next value and its next state
Update = tuple[str, Any, State]


class Optimizer(Definition):
    """A rule that turns a parameter and its gradient into the next parameter.

    init(xp, param)   The state before the first step: arrays of the parameter's shape, or scalars.
    update(xp, param, grad, state, step)   The next parameter and state. Pure: nothing is changed in place. `step` is
        the count of this step from 1, a scalar array, so that a compiled step need not be compiled again; float64 for
        parameters in float64, float32 for all others.
    <framework>(self, module, params, grads, states, step)   Optional: that framework's own kernel for the same update
        of many tensors at once, given as lists; it changes params and states in place.
    elementwise   Whether every element is updated independently: only then may parameters be flattened into one buffer.

    A setting may be a Schedule: while a step is computed, the setting is the schedule's value, so that formulas need
    not handle schedules. `optimizer | modifier` is the optimizer with gradient clipping, weight decay and the like.
    """

    elementwise: ClassVar[bool] = True
    framework: ClassVar[str] = ""  # the only one that it runs on; empty: all

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "update" in vars(cls):
            cls.update = _with_scheduled_settings(vars(cls)["update"])  # type: ignore[method-assign]

    def init(self, xp: Any, param: Any) -> State:
        return {}

    def update(
        self, xp: Any, param: Any, grad: Any, state: State, step: Any
    ) -> tuple[Any, State]:
        raise lacking(self, "update")

    def init_named(self, xp: Any, name: str, param: Any) -> State:
        """The initial state of the parameter of this name; groups of parameters may have different rules."""
        return self.init(xp, param)

    def updates(
        self,
        xp: Any,
        params: Mapping[str, Any],
        grads: Mapping[str, Any],
        states: Mapping[str, State],
        step: Any,
    ) -> Iterator[Update]:
        """The updates of all parameters, computed lazily: each may be applied before the next is computed."""
        for name, param in params.items():
            yield name, *self.update(xp, param, grads[name], states[name], step)

    @property
    def needs_all_gradients(self) -> bool:
        """Whether the update of one parameter depends on the gradients of the others."""
        return False

    def native(self, framework: str) -> Callable | None:
        """The method named after the framework, if this optimizer has one."""
        return own_kernel(self, framework, ("init", "update"))

    def with_native_kernels(self, framework: str, module: Any) -> "Optimizer":
        """This optimizer for a framework that changes tensors in place: with its kernel if there is one."""
        if self.native(framework):
            return NativeKernel(self, framework, module)
        return self

    def at_step(self, xp: Any, step: Any, dtype: Any) -> Self:
        """This optimizer with the values of its schedules at a step, as arrays of this dtype."""
        schedules = self.schedules
        if not schedules:
            return self
        exact_step = xp.astype(step, _computing_dtype(dtype))
        settings = {}
        for name, schedule in schedules.items():
            value = schedule.value(xp, exact_step)
            settings[name] = xp.astype(value, dtype)
        return self.with_values(settings)

    def with_values(self, settings: Mapping[str, Any]) -> Self:
        """This optimizer with these settings, which are not converted and may be arrays."""
        changed = copy.copy(self)
        for name, value in settings.items():
            object.__setattr__(changed, name, value)
        vars(changed).pop("schedules", None)
        return changed

    @functools.cached_property
    def schedules(self) -> dict[str, Schedule]:
        """The settings that are schedules."""
        schedules = {}
        for name, value in self.settings.items():
            if isinstance(value, Schedule):
                schedules[name] = value
        return schedules

    def check_framework(self, framework: str) -> None:
        """Raise Unsupported if this optimizer belongs to another framework."""
        if self.framework in ("", framework):
            return
        name = type(self).__name__
        raise Unsupported(
            f"{name} is {self.framework}'s own optimizer, and the executor is {framework}'s: use "
            f"{self.framework}'s from_model, or an optimizer of deep500.optimizers, which run everywhere"
        )

    def __or__(self, modifier: "Modifier") -> "Optimizer":
        """This optimizer with gradients that are first changed by the modifier."""
        from .modifier import Modifier

        if not isinstance(modifier, Modifier):
            return NotImplemented
        return modifier.applied_to(self)


class NativeKernel(Optimizer):
    """Runs an optimizer through its method named after a framework, which changes parameters and states in place."""

    optimizer: Optimizer
    name: str
    module: Any

    def init(self, xp: Any, param: Any) -> State:
        return self.optimizer.init(xp, param)

    def updates(
        self,
        xp: Any,
        params: Mapping[str, Any],
        grads: Mapping[str, Any],
        states: Mapping[str, State],
        step: Any,
    ) -> Iterator[Update]:
        """Does all updates and yields none."""
        kernel = self.optimizer.at_step(xp, step, "float64").native(self.name)
        assert kernel is not None
        param_list = [*params.values()]
        grad_list = [grads[name] for name in params]
        state_list = [states[name] for name in params]
        kernel(self.module, param_list, grad_list, state_list, step)
        yield from ()


def _with_scheduled_settings(update: Callable) -> Callable:
    """The update function with schedules replaced by their values in the step."""

    @functools.wraps(update)
    def update_at_step(
        self: Optimizer, xp: Any, param: Any, grad: Any, state: State, step: Any
    ) -> tuple[Any, State]:
        current = self.at_step(xp, step, param.dtype)
        exact_step = xp.astype(step, _computing_dtype(param.dtype))
        try:
            updated = update(current, xp, param, grad, state, exact_step)
        except Exception:
            with errors_of_user_code("the optimizer"):
                raise
        name = type(self).__name__
        is_pair = isinstance(updated, tuple) and len(updated) == 2
        if not is_pair or not isinstance(updated[1], Mapping):
            kind = type(updated).__name__
            raise Deep500Error(
                f"update of {name} returns a {kind}: return a pair, the next parameter and its state, a dictionary"
            )
        _check_shape(name, param, updated[0])
        return updated

    return update_at_step


def _check_shape(optimizer: str, param: Any, new_param: Any) -> None:
    """Raise a Deep500Error if an update has changed the shape of a parameter."""
    shape = tuple(param.shape)
    new_shape = tuple(getattr(new_param, "shape", ()))
    if new_shape != shape:
        raise Deep500Error(
            f"update of {optimizer} returns {new_shape} for a parameter of the shape {shape}"
        )


def _computing_dtype(dtype: Any) -> str:
    """The dtype of schedules and of the step: float64 for float64, float32 for all others."""
    return "float64" if "float64" in str(dtype) else "float32"
