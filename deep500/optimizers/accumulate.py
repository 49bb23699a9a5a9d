"""Several batches for one update."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from ..contracts.modifier import Arrays, Modifier
from ..contracts.optimizer import Optimizer, State, Update
from ..contracts.schedule import check_positive


class Accumulate(Modifier):
    """The mean of the gradients of `steps` batches, after which the optimizer does one step.

    In between, parameters and the optimizer's state stay as they are. The optimizer, and schedules in it, count its
    own steps: one for every `steps` batches.
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
        own_step = xp.floor(step / self.steps)
        is_due = own_step * self.steps == step
        first_or_later = xp.maximum(own_step, 1)
        for name, param, state in optimizer.updates(
            xp, params, totals, states, first_or_later
        ):
            before = states[name]
            chosen = {key: xp.where(is_due, state[key], before[key]) for key in state}
            rest = xp.where(is_due, xp.zeros_like(totals[name]), totals[name])
            yield (
                name,
                xp.where(is_due, param, params[name]),
                chosen | {"accumulated": rest},
            )
