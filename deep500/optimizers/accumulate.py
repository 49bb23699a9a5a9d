"""Gradient accumulation: one update for several batches."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from ..contracts.modifier import Arrays, Modifier
from ..contracts.optimizer import Optimizer, State, Update
from ..contracts.schedule import check_positive


class Accumulate(Modifier):
    """Averages the gradients of `steps` batches, after which the optimizer does one step.

    In between, parameters and the optimizer's state stay as they are. The optimizer and its schedules count one step
    for every `steps` batches.
    """

    runs_native_kernels: ClassVar[bool] = False

    steps: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, steps=self.steps)

    def init(self, xp: Any, param: Any) -> State:
        return {"accumulated": xp.zeros_like(param)}

    def updates(
        self,
        optimizer: Optimizer,
        xp: Any,
        params: Arrays,
        grads: Arrays,
        states: Mapping[str, State],
        step: Any,
    ) -> Iterator[Update]:
        totals = {}
        for name, grad in grads.items():
            totals[name] = states[name]["accumulated"] + grad / self.steps
        updates_due = xp.floor(step / self.steps)
        is_due = updates_due * self.steps == step
        optimizer_step = xp.maximum(updates_due, 1)
        updates = optimizer.updates(xp, params, totals, states, optimizer_step)
        for name, param, state in updates:
            before = states[name]
            total = totals[name]
            new_state = {}
            for key in state:
                new_state[key] = xp.where(is_due, state[key], before[key])
            new_state["accumulated"] = xp.where(is_due, xp.zeros_like(total), total)
            new_param = xp.where(is_due, param, params[name])
            yield name, new_param, new_state
