"""A training step in PyTorch: the executor's forward and backward passes, then the optimizer's update rule."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ...contracts.executor import matching
from ...contracts.optimizer import Optimizer, State
from .gradients import AutogradStep

if TYPE_CHECKING:
    from .executor import PyTorchExecutor
    from .wrapped import WrappedModule

# Elements that a formula is applied to at once, so that its intermediate results stay in the cache.
CHUNK = 1 << 18


class PyTorchStep(AutogradStep):
    """Updates all tensors in one call of a native kernel, or by the optimizer's formula.

    An elementwise formula is applied to chunks of the flat buffers, any other formula to one tensor after the other.
    `backprop` followed by `update` gives the same bits as a whole step.
    """

    executor: "PyTorchExecutor | WrappedModule"

    def __init__(
        self,
        executor: "PyTorchExecutor | WrappedModule",
        optimizer: Optimizer,
        y: str,
    ):
        super().__init__(executor, optimizer, y)
        framework = executor.framework
        self._native: Callable[..., None] | None = None
        native = optimizer.native(framework.name)
        if native and not optimizer.schedules:
            self._native = partial(native, torch)
        self._rule = optimizer.with_native_kernels(framework.name, torch)
        is_formula = self._rule is optimizer
        self._flat = bool(executor.flat) and optimizer.elementwise and is_formula
        # the tensors that the rule is applied to
        self.pieces = self._named_pieces()
        self.params = [*self.pieces.values()]
        self.states: list[State] = []
        with torch.no_grad():
            for name, param in self.pieces.items():
                first = optimizer.init_named(framework.xp, name, param)
                self.states.append(_unshared(first, param))
        self._gradient_chunks: list[torch.Tensor] = []
        self._step = torch.zeros((), device=framework.device)
        # native kernels read memory in its order: gradients and states need the strides of their parameters
        self._is_contiguous = all(param.is_contiguous() for param in self.params)

    def _named_pieces(self) -> dict[str, torch.Tensor]:
        """The parameters by name, or chunks of the flat buffers by number."""
        if not self._flat:
            return {**self.executor.trained}
        chunks = self._chunks(self.executor.flat)
        pieces = {}
        for number, chunk in enumerate(chunks):
            pieces[str(number)] = chunk
        return pieces

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
            if not self._gradient_chunks:
                self._gradient_chunks = self._chunks(buffers)
            gradients = self._gradient_chunks
        else:
            gradients = self._gradients()
        xp = self.executor.framework.xp
        named_gradients = dict(zip(self.pieces, gradients, strict=True))
        states = dict(zip(self.pieces, self.states, strict=True))
        updates = self._rule.updates(
            xp, self.pieces, named_gradients, states, self._step
        )
        for name, new, state in updates:
            states[name] = _unshared(state, self.pieces[name])
            self.pieces[name].copy_(new)
        self.states = [*states.values()]

    def _gradients(self) -> list[torch.Tensor]:
        gradients = self.executor.gradient_list()
        if not self._is_contiguous:
            for i, param in enumerate(self.params):
                gradients[i] = laid_out_as(param, gradients[i])
        return gradients

    def state(self) -> dict[str, np.ndarray]:
        """Return the number of steps as "step", and every array of the optimizer's state as "parameter.array"."""
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
        for key in self._state_keys():
            by_param = {}
            for name in self.executor.trained:
                by_param[name] = arrays[f"{name}.{key}"]
            for i, value in enumerate(self._by_piece(by_param, key)):
                self.states[i] = self.states[i] | {key: value}

    def _load_by_param(self, arrays: Mapping[str, np.ndarray]) -> None:
        tensor = self.executor.framework.tensor
        for i, (name, param) in enumerate(self.pieces.items()):
            loaded = {}
            for key in self.states[i]:
                value = tensor(arrays[f"{name}.{key}"])
                loaded[key] = laid_out_as(param, value)
            self.states[i] = loaded

    def _state_by_param(self) -> dict[str, State]:
        if not self._flat:
            return dict(zip(self.pieces, self.states, strict=True))
        by_param: dict[str, State] = {name: {} for name in self.executor.trained}
        for key in self._state_keys():
            pieces = [state[key] for state in self.states]
            for name, value in self._by_param(pieces).items():
                by_param[name][key] = value
        return by_param

    def _state_keys(self) -> list[str]:
        """The names of the tensors in the state of a piece; all pieces have the same."""
        if not self.states:
            return []
        return [*self.states[0]]

    def _chunks(self, buffers: Mapping[str, torch.Tensor]) -> list[torch.Tensor]:
        chunks: list[torch.Tensor] = []
        for buffer in buffers.values():
            chunks.extend(buffer.split(CHUNK))
        return chunks

    def _by_param(self, pieces: list[torch.Tensor]) -> dict[str, torch.Tensor]:
        """Convert the state of every piece to the state of every parameter."""
        # a scalar, the same for all
        if pieces[0].shape != self.params[0].shape:
            return dict.fromkeys(self.executor.trained, pieces[0])
        buffers = {}
        first = 0
        for dtype, buffer in self.executor.flat.items():
            end = first + len(buffer.split(CHUNK))
            buffers[dtype] = torch.cat(pieces[first:end])
            first = end
        return self.executor.layout.views(buffers)

    def _by_piece(
        self, by_param: Mapping[str, np.ndarray], key: str
    ) -> list[torch.Tensor]:
        """Convert the state of every parameter to the state of every piece."""
        tensor: Callable[[Any], torch.Tensor] = self.executor.framework.tensor
        if self.states[0][key].shape != self.params[0].shape:
            scalar = next(iter(by_param.values()))
            return [tensor(scalar)] * len(self.states)
        buffers = self.executor.layout.gather(by_param)
        tensors = {dtype: tensor(buffer) for dtype, buffer in buffers.items()}
        return self._chunks(tensors)


def _unshared(state: State, param: torch.Tensor) -> State:
    """The state; tensors in the memory of the parameter are copied, since the parameter is changed in place."""
    address = param.data_ptr()
    unshared = {}
    for key, value in state.items():
        is_shared = value.data_ptr() == address
        unshared[key] = value.clone() if is_shared else value
    return unshared


def laid_out_as(param: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Return the value with the strides of the parameter; a scalar stays as it is."""
    if value.shape != param.shape or value.stride() == param.stride():
        return value
    return torch.empty_like(param, dtype=value.dtype).copy_(value)
