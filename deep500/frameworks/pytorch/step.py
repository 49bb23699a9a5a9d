"""A training step in PyTorch: forward and backward by the executor, then the optimizer's rule on its parameters."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ...contracts.executor import TrainingStep, matching
from ...contracts.optimizer import Optimizer, State

if TYPE_CHECKING:
    from .executor import PyTorchExecutor
    from .wrapped import WrappedModule

CHUNK = (
    1 << 18
)  # elements that a formula takes at once: its intermediate results stay in the cache


class PyTorchStep(TrainingStep):
    """A native rule takes all tensors in one call, an elementwise formula goes over the flat buffers in chunks, and
    any other formula goes tensor by tensor. The two halves of a step give the same bits as the whole."""

    executor: "PyTorchExecutor | WrappedModule"

    def __init__(
        self, executor: "PyTorchExecutor | WrappedModule", optimizer: Optimizer, y: str
    ):
        super().__init__(executor, optimizer, y)
        xp, name = executor.framework.xp, executor.framework.name
        native = optimizer.native(name)
        has_schedules = bool(optimizer.schedules)
        self._native = partial(native, torch) if native and not has_schedules else None
        self._rule = optimizer.with_native_kernels(name, torch)
        is_formula = self._rule is optimizer
        self._flat = bool(executor.flat) and optimizer.elementwise and is_formula
        # what the rule is applied to, piece by piece
        self.pieces = self._named_pieces()
        self.params = [*self.pieces.values()]
        with torch.no_grad():
            self.states = [
                _apart(optimizer.init_named(xp, name, param), param)
                for name, param in self.pieces.items()
            ]
        self._gradient_chunks: list[torch.Tensor] = []
        self._step = torch.zeros(())
        # native kernels go over memory as it lies: gradients and states must lie as their parameters do
        self._is_contiguous = all(param.is_contiguous() for param in self.params)

    def _named_pieces(self) -> dict[str, torch.Tensor]:
        """The parameters by name, or numbered chunks of the buffers that hold them."""
        if not self._flat:
            return {**self.executor.trained}
        chunks = self._chunks(self.executor.flat)
        return {str(number): chunk for number, chunk in enumerate(chunks)}

    def _update(self) -> None:
        self._step.fill_(self.count + 1)
        with torch.no_grad():
            if self._native:
                self._native(self.params, self._gradients(), self.states, self._step)
            else:
                self._apply_rule()

    def _apply_rule(self) -> None:
        if self._flat:
            buffers = self.executor.gathered_gradients()
            self._gradient_chunks = self._gradient_chunks or self._chunks(buffers)
            gradients = self._gradient_chunks
        else:
            gradients = self._gradients()
        xp = self.executor.framework.xp
        named_gradients = dict(zip(self.pieces, gradients, strict=True))
        states = dict(zip(self.pieces, self.states, strict=True))
        for name, new, state in self._rule.updates(
            xp, self.pieces, named_gradients, states, self._step
        ):
            states[name] = _apart(state, self.pieces[name])
            self.pieces[name].copy_(new)
        self.states = [*states.values()]

    def _gradients(self) -> list[torch.Tensor]:
        gradients = self.executor.gradient_list()
        if self._is_contiguous:
            return gradients
        return [laid_out_as(p, g) for p, g in zip(self.params, gradients, strict=True)]

    def state(self) -> dict[str, np.ndarray]:
        """The count of steps as "step", and every array of the optimizer's state as "parameter.array"."""
        array = self.executor.framework.array
        arrays = {"step": np.asarray(self.count, np.float32)}
        for name, state in self._state_by_param().items():
            for key, value in state.items():
                arrays[f"{name}.{key}"] = array(value.clone())
        return arrays

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        arrays = matching("optimizer state", self.state(), state)
        self.count = int(arrays["step"])
        if not self._flat:
            self._load_by_param(arrays)
            return
        for key in self.states[0] if self.states else ():
            by_param = {name: arrays[f"{name}.{key}"] for name in self.executor.trained}
            for i, value in enumerate(self._by_piece(by_param, key)):
                self.states[i] = self.states[i] | {key: value}

    def _load_by_param(self, arrays: Mapping[str, np.ndarray]) -> None:
        tensor = self.executor.framework.tensor
        for i, (name, param) in enumerate(self.pieces.items()):
            self.states[i] = {
                key: laid_out_as(param, tensor(arrays[f"{name}.{key}"]))
                for key in self.states[i]
            }

    def _state_by_param(self) -> dict[str, State]:
        if not self._flat:
            return dict(zip(self.pieces, self.states, strict=True))
        by_param: dict[str, State] = {name: {} for name in self.executor.trained}
        for key in self.states[0] if self.states else ():
            for name, value in self._by_param(
                [state[key] for state in self.states]
            ).items():
                by_param[name][key] = value
        return by_param

    def _chunks(self, buffers: Mapping[str, torch.Tensor]) -> list[torch.Tensor]:
        return [chunk for buffer in buffers.values() for chunk in buffer.split(CHUNK)]

    def _by_param(self, pieces: Sequence[torch.Tensor]) -> dict[str, torch.Tensor]:
        """The state of every parameter, from that of every piece."""
        trained = self.executor.trained
        if pieces[0].shape != self.params[0].shape:  # a number, the same for all
            return dict.fromkeys(trained, pieces[0])
        buffers, rest = {}, iter(pieces)
        for dtype, buffer in self.executor.flat.items():
            buffers[dtype] = torch.cat([next(rest) for _ in buffer.split(CHUNK)])
        return self.executor.layout.views(buffers)

    def _by_piece(
        self, by_param: Mapping[str, np.ndarray], key: str
    ) -> list[torch.Tensor]:
        """The other way round."""
        tensor: Callable[[Any], torch.Tensor] = self.executor.framework.tensor
        if self.states[0][key].shape != self.params[0].shape:
            return [tensor(next(iter(by_param.values())))] * len(self.states)
        buffers = self.executor.layout.gather(by_param)
        return self._chunks(
            {dtype: tensor(buffer) for dtype, buffer in buffers.items()}
        )


def _apart(state: State, param: torch.Tensor) -> State:
    """The state, with copies of tensors that are the parameter itself, which will be changed in place."""
    own = param.data_ptr()
    return {k: v.clone() if v.data_ptr() == own else v for k, v in state.items()}


def laid_out_as(param: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """The value with the strides of the parameter; a number stays as it is."""
    if value.shape != param.shape or value.stride() == param.stride():
        return value
    return torch.empty_like(param, dtype=value.dtype).copy_(value)
