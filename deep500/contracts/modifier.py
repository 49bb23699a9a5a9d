"""The modifier contract: what happens to gradients before an optimizer uses them."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from ..definition import Definition
from ..errors import Deep500Error, lacking
from .optimizer import Optimizer, State, Update

Arrays = Mapping[str, Any]  # by the names of parameters


class Modifier(Definition):
    """Clipping, weight decay, accumulation …: `optimizer | modifier` is an optimizer again.

    A modifier wraps what stands to its left, so that a gradient meets the last one first: in
    `Adam(1e-3) | ClipByNorm(1.0) | Accumulate(4)`, four gradients are averaged, then clipped, then used by Adam.

    gradients(xp, params, grads)   The changed gradients, by the names of their parameters.
    init(xp, param)                The state that the modifier keeps for a parameter, if it keeps one.
    updates(optimizer, xp, …)      What a step does; needed only if there is more to it than changing gradients.
    elementwise                    Whether gradients may be flattened into one buffer: names are not looked at.
    needs_all_gradients            Whether one gradient is changed by what the others are.
    """

    elementwise: ClassVar[bool] = True
    needs_all_gradients: ClassVar[bool] = False
    runs_native_kernels: ClassVar[bool] = True  # whether updates may be done in place

    def init(self, xp: Any, param: Any) -> State:
        return {}

    def gradients(self, xp: Any, params: Arrays, grads: Arrays) -> Arrays:
        raise lacking(self, "gradients")

    def updates(
        self,
        optimizer: Optimizer,
        xp: Any,
        params: Arrays,
        grads: Arrays,
        states: Mapping[str, State],
        step: Any,
    ) -> Iterator[Update]:
        changed = self.gradients(xp, params, grads)
        return optimizer.updates(xp, params, changed, states, step)

    def applied_to(self, optimizer: Optimizer) -> Optimizer:
        return Modified(optimizer, self)


class Modified(Optimizer):
    """An optimizer whose gradients a modifier changes first."""

    optimizer: Optimizer
    modifier: Modifier

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.optimizer.framework:
            name = type(self.optimizer).__name__
            raise Deep500Error(
                f"{name} is {self.optimizer.framework}'s own optimizer, which takes no "
                f"{type(self.modifier).__name__}: use an optimizer of deep500.optimizers"
            )

    @property
    def elementwise(self) -> bool:  # type: ignore[override]
        return self.optimizer.elementwise and self.modifier.elementwise

    @property
    def needs_all_gradients(self) -> bool:
        return self.optimizer.needs_all_gradients or self.modifier.needs_all_gradients

    def init(self, xp: Any, param: Any) -> State:
        return self._joined(self.optimizer.init(xp, param), xp, param)

    def init_named(self, xp: Any, name: str, param: Any) -> State:
        return self._joined(self.optimizer.init_named(xp, name, param), xp, param)

    def update(
        self, xp: Any, param: Any, grad: Any, state: State, step: Any
    ) -> tuple[Any, State]:
        [(_, new, new_state)] = self.updates(
            xp, {"": param}, {"": grad}, {"": state}, step
        )
        return new, new_state

    def updates(
        self,
        xp: Any,
        params: Arrays,
        grads: Arrays,
        states: Mapping[str, State],
        step: Any,
    ) -> Iterator[Update]:
        return self.modifier.updates(self.optimizer, xp, params, grads, states, step)

    def native(self, framework: str) -> None:
        """None of its own: see with_native_kernels."""

    def with_native_kernels(self, framework: str, module: Any) -> Optimizer:
        if not self.modifier.runs_native_kernels:
            return self
        inner = self.optimizer.with_native_kernels(framework, module)
        return Modified(inner, self.modifier)

    def _joined(self, state: State, xp: Any, param: Any) -> State:
        """The states of the optimizer and of the modifier together."""
        more = self.modifier.init(xp, param)
        if clash := more.keys() & state.keys():
            name = type(self.modifier).__name__
            raise Deep500Error(
                f"{name} keeps {min(clash)!r}, and so does what it is applied to: apply it only once"
            )
        return state | more
