"""The optimizer contract: two pure functions, written once over any namespace."""

from collections.abc import Callable
from typing import Any, ClassVar

from ..definition import Definition
from ..errors import lacking

State = dict[str, Any]  # arrays by name; the same names for every parameter


class Optimizer(Definition):
    """A rule that turns a parameter and its gradient into the next parameter.

    init(xp, param)   The state before the first step: arrays of the parameter's shape, or scalars.
    update(xp, param, grad, state, step)   The next parameter and state. Pure: nothing is changed in place. `step` is
        the count of this step from 1, a float32 scalar array, so that a compiled step need not be compiled again.
    <framework>(self, module, params, grads, states, step)   Optional: that framework's own kernel for the same update
        of many tensors at once, given as lists; it changes params and states in place.
    elementwise   Whether every element is updated by itself: only then may parameters be flattened into one buffer.
    """

    elementwise: ClassVar[bool] = True

    def init(self, xp: Any, param: Any) -> State:
        return {}

    def update(self, xp: Any, param: Any, grad: Any, state: State, step: Any) -> tuple[Any, State]:
        raise lacking(self, "update")

    def native(self, framework: str) -> Callable | None:
        """The method named after the framework, if this optimizer has one."""
        return getattr(self, framework, None) if framework in dir(type(self)) else None
