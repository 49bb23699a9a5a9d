"""Parameter groups: another optimizer for some of the parameters."""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from ..contracts.modifier import Modified, Modifier
from ..contracts.optimizer import Optimizer, State, Update
from ..errors import Deep500Error


class Group(Modifier):
    """Updates parameters whose names match the pattern by another optimizer.

    `AdamW(1e-3) | Group("*bias", AdamW(1e-3, weight_decay=0.0))` applies no weight decay to biases. If several groups
    match, the last one counts.
    """

    pattern: str
    optimizer: Optimizer

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.optimizer, Optimizer):
            raise Deep500Error(
                f"the optimizer of Group({self.pattern!r}, …) is {self.optimizer!r}: give an instance, "
                "as in SGD(0.1)"
            )

    def applied_to(self, optimizer: Optimizer) -> Optimizer:
        return Grouped(optimizer, self)


class Grouped(Modified):
    """An optimizer for most parameters, and another one for a group of them."""

    optimizer: Optimizer
    modifier: Group

    @property
    def elementwise(self) -> bool:  # type: ignore[override]
        return False

    @property
    def needs_all_gradients(self) -> bool:
        others, group = self.optimizer, self.modifier.optimizer
        return others.needs_all_gradients or group.needs_all_gradients

    def init(self, xp: Any, param: Any) -> State:
        return self.optimizer.init(xp, param)

    def init_named(self, xp: Any, name: str, param: Any) -> State:
        optimizer = self.optimizer
        if self._in_group(name):
            optimizer = self.modifier.optimizer
        return optimizer.init_named(xp, name, param)

    def updates(
        self,
        xp: Any,
        params: Mapping[str, Any],
        grads: Mapping[str, Any],
        states: Mapping[str, State],
        step: Any,
    ) -> Iterator[Update]:
        others, group = [], []
        for name in params:
            if self._in_group(name):
                group.append(name)
            else:
                others.append(name)
        parts = [(self.optimizer, others), (self.modifier.optimizer, group)]
        for optimizer, names in parts:
            if not names:
                continue
            part_params = {name: params[name] for name in names}
            part_grads = {name: grads[name] for name in names}
            yield from optimizer.updates(xp, part_params, part_grads, states, step)

    def with_native_kernels(self, framework: str, module: Any) -> Optimizer:
        others = self.optimizer.with_native_kernels(framework, module)
        members = self.modifier.optimizer.with_native_kernels(framework, module)
        group = Group(self.modifier.pattern, members)
        return Grouped(others, group)

    def _in_group(self, name: str) -> bool:
        return fnmatchcase(name, self.modifier.pattern)
