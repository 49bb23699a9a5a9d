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

CHUNK = 1 << 18  # elements that a formula takes at once: its intermediate results stay in the cache


class PyTorchStep(TrainingStep):
    """A native rule takes all tensors in one call, an elementwise formula goes over the flat buffers in chunks, and
    any other formula goes tensor by tensor. The two halves of a step give the same bits as the whole."""

    executor: "PyTorchExecutor | WrappedModule"

    def __init__(self, executor: "PyTorchExecutor | WrappedModule", optimizer: Optimizer, y: str):
        super().__init__(executor, optimizer, y)
        xp = executor.framework.xp
        native = optimizer.native(executor.framework.name)
        self._native = partial(native, torch) if native else None
        self._formula = partial(optimizer.update, xp)
        self._flat = bool(executor.flat) and optimizer.elementwise and not native
        # what the rule is applied to, piece by piece
        self.params = self._chunks(executor.flat) if self._flat else [*executor.trained.values()]
        with torch.no_grad():
            self.states = [_apart(optimizer.init(xp, param), param) for param in self.params]
        self._gradient_chunks: list[torch.Tensor] = []
        self._step = torch.zeros(())

    def _update(self) -> None:
        self._step.fill_(self.count + 1)
        with torch.no_grad():
            if self._native:
                gradients = self.executor.gradient_list()
                self._native(self.params, gradients, self.states, self._step)
            else:
                self._apply_formula()

    def _apply_formula(self) -> None:
        if self._flat:
            buffers = self.executor.gathered_gradients()
            self._gradient_chunks = self._gradient_chunks or self._chunks(buffers)
            gradients = self._gradient_chunks
        else:
            gradients = self.executor.gradient_list()
        for i, (param, gradient) in enumerate(zip(self.params, gradients, strict=True)):
            new, state = self._formula(param, gradient, self.states[i], self._step)
            self.states[i] = _apart(state, param)
            param.copy_(new)

    def state(self) -> dict[str, np.ndarray]:
        """The count of steps as "step", and every array of the optimizer's state as "parameter.array"."""
        array = self.executor.framework.array
        arrays = {"step": np.asarray(self.count, np.float32)}
        for key in self.states[0] if self.states else ():
            for name, value in self._by_param([state[key] for state in self.states]).items():
                arrays[f"{name}.{key}"] = array(value.clone())
        return arrays

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        arrays = matching("optimizer state", self.state(), state)
        self.count = int(arrays["step"])
        for key in self.states[0] if self.states else ():
            by_param = {name: arrays[f"{name}.{key}"] for name in self.executor.trained}
            for i, value in enumerate(self._by_piece(by_param, key)):
                self.states[i] = self.states[i] | {key: value}

    def _chunks(self, buffers: Mapping[str, torch.Tensor]) -> list[torch.Tensor]:
        return [chunk for buffer in buffers.values() for chunk in buffer.split(CHUNK)]

    def _by_param(self, pieces: Sequence[torch.Tensor]) -> dict[str, torch.Tensor]:
        """The state of every parameter, from that of every piece."""
        trained = self.executor.trained
        if not self._flat:
            return dict(zip(trained, pieces, strict=True))
        if pieces[0].shape != self.params[0].shape:  # a number, the same for all
            return dict.fromkeys(trained, pieces[0])
        buffers, rest = {}, iter(pieces)
        for dtype, buffer in self.executor.flat.items():
            buffers[dtype] = torch.cat([next(rest) for _ in buffer.split(CHUNK)])
        return self.executor.layout.views(buffers)

    def _by_piece(self, by_param: Mapping[str, np.ndarray], key: str) -> list[torch.Tensor]:
        """The other way round."""
        tensor: Callable[[Any], torch.Tensor] = self.executor.framework.tensor
        if not self._flat:
            return [tensor(value) for value in by_param.values()]
        if self.states[0][key].shape != self.params[0].shape:
            return [tensor(next(iter(by_param.values())))] * len(self.states)
        buffers = self.executor.layout.gather(by_param)
        return self._chunks({dtype: tensor(buffer) for dtype, buffer in buffers.items()})


def _apart(state: State, param: torch.Tensor) -> State:
    """The state, with copies of tensors that are the parameter itself, which will be changed in place."""
    own = param.data_ptr()
    return {k: v.clone() if v.data_ptr() == own else v for k, v in state.items()}
