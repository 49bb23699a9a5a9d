"""The modifier contract: changes to gradients before an optimizer uses them."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from ..definition import Definition
from ..errors import Deep500Error, lacking
from .optimizer import Optimizer, State, Update

Arrays = Mapping[str, Any]  # by the names of parameters


class Modifier(Definition):
    """Clipping, weight decay, accumulation …: `optimizer | modifier` is an optimizer again.

    A modifier wraps the optimizer to its left, so that the last modifier is applied first: in
    `Adam(1e-3) | ClipByNorm(1.0) | Accumulate(4)`, four gradients are averaged, then clipped, then used by Adam.

    gradients(xp, params, grads)   The changed gradients, by the names of their parameters.
    init(xp, param)                The state that the modifier keeps for a parameter, if any.
    updates(optimizer, xp, …)      A whole step; needed only if it does more than changing gradients.
    elementwise                    Whether gradients may be flattened into one buffer: their names do not matter.
    needs_all_gradients            Whether the change of one gradient depends on the others.
    """

    elementwise: ClassVar[bool] = True
    needs_all_gradients: ClassVar[bool] = False
    # whether updates may be done in place
    runs_native_kernels: ClassVar[bool] = True

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
    """An optimizer whose gradients are first changed by a modifier."""

    optimizer: Optimizer
    modifier: Modifier

    def __post_init__(self) -> None:
        super().__post_init__()
        framework = self.optimizer.framework
        if framework:
            optimizer = type(self.optimizer).__name__
            modifier = type(self.modifier).__name__
            raise Deep500Error(
                f"{optimizer} is {framework}'s own optimizer, which takes no "
                f"{modifier}: use an optimizer of deep500.optimizers"
            )

    @property
    def elementwise(self) -> bool:  # type: ignore[override]
        return self.optimizer.elementwise and self.modifier.elementwise

    @property
    def needs_all_gradients(self) -> bool:
        return self.optimizer.needs_all_gradients or self.modifier.needs_all_gradients

    def init(self, xp: Any, param: Any) -> State:
        state = self.optimizer.init(xp, param)
        return self._joined(state, xp, param)

    def init_named(self, xp: Any, name: str, param: Any) -> State:
        state = self.optimizer.init_named(xp, name, param)
        return self._joined(state, xp, param)

    def update(
        self, xp: Any, param: Any, grad: Any, state: State, step: Any
    ) -> tuple[Any, State]:
        updates = self.updates(xp, {"": param}, {"": grad}, {"": state}, step)
        [(_, new_param, new_state)] = updates
        return new_param, new_state

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
        """None: it has no kernel of its own; see with_native_kernels."""

    def with_native_kernels(self, framework: str, module: Any) -> Optimizer:
        if not self.modifier.runs_native_kernels:
            return self
        inner = self.optimizer.with_native_kernels(framework, module)
        return Modified(inner, self.modifier)

    def _joined(self, state: State, xp: Any, param: Any) -> State:
        """The states of the optimizer and of the modifier together."""
        modifier_state = self.modifier.init(xp, param)
        common_names = modifier_state.keys() & state.keys()
        if common_names:
            name = type(self.modifier).__name__
            first = min(common_names)
            raise Deep500Error(
                f"{name} keeps {first!r}, and so does what it is applied to: apply it only once"
            )
        return {**state, **modifier_state}
