"""A training step by an optimizer of torch.optim."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ...contracts.executor import matching
from ...contracts.native_optimizer import NativeOptimizer
from .gradients import AutogradStep
from .step import laid_out_as

if TYPE_CHECKING:
    from .executor import PyTorchExecutor
    from .wrapped import WrappedModule

# tensors, and numbers such as an optimizer's own count of steps
TorchState = dict[str, Any]


class TorchOptimStep(AutogradStep):
    """Runs the executor's forward and backward passes, then `step()` of PyTorch's optimizer.

    PyTorch creates the state of a parameter in its first step; until then, `state` returns zeros.
    """

    executor: "PyTorchExecutor | WrappedModule"
    optimizer: NativeOptimizer

    def __init__(
        self,
        executor: "PyTorchExecutor | WrappedModule",
        optimizer: NativeOptimizer,
        y: str,
    ):
        super().__init__(executor, optimizer, y)
        self._first_states = self._tried_states()
        self._torch_optimizer = self._created([*executor.trained.values()])

    def _created(self, params: list[torch.Tensor]) -> torch.optim.Optimizer:
        rate = self.optimizer.rate_at(1)
        return self.optimizer.create(torch.optim, rate)(params)

    def _tried_states(self) -> dict[str, TorchState]:
        """Zeros for every tensor of the state, whose names are known after a step on copies of the parameters."""
        copies = {}
        for name, param in self.executor.trained.items():
            copy = param.detach().clone().requires_grad_()
            copy.grad = torch.zeros_like(param)
            copies[name] = copy
        trial = self._created([*copies.values()])
        trial.step()
        states = {}
        for name, copy in copies.items():
            states[name] = _zeros(trial.state[copy])
        return states

    def _update(self) -> None:
        params = self.executor.trained.values()
        gradients = self.executor.gradient_list()
        for param, gradient in zip(params, gradients, strict=True):
            # fused kernels read both in the order of memory
            param.grad = laid_out_as(param.detach(), gradient)
        if self.optimizer.schedules:
            rate = self.optimizer.rate_at(self.count + 1)
            for group in self._torch_optimizer.param_groups:
                group["lr"] = rate
        self._torch_optimizer.step()

    def state(self) -> dict[str, np.ndarray]:
        """Return the number of steps as "step", and every tensor of PyTorch's state as "parameter.tensor"."""
        array = self.executor.framework.array
        arrays = {"step": np.asarray(self.count, np.float32)}
        for name, param in self.executor.trained.items():
            current = self._torch_optimizer.state.get(param, {})
            for key, zeros in self._first_states[name].items():
                value = current.get(key, zeros)
                arrays[f"{name}.{key}"] = _saved(value, array)
        return arrays

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        arrays = matching("optimizer state", self.state(), state)
        self.count = int(arrays["step"])
        trained = self.executor.trained
        self._torch_optimizer = self._created([*trained.values()])
        if self.count == 0:
            return
        tensor = self.executor.framework.tensor
        for name, param in trained.items():
            param_state = self._torch_optimizer.state[param]
            for key, zero in self._first_states[name].items():
                saved = arrays[f"{name}.{key}"]
                if not isinstance(zero, torch.Tensor):
                    param_state[key] = type(zero)(saved.item())
                    continue
                # some states, such as counts of steps, stay on the host
                value = tensor(saved).to(zero.device)
                param_state[key] = laid_out_as(param.detach(), value)


def _zeros(state: Mapping[str, Any]) -> TorchState:
    zeros: TorchState = {}
    for key, value in state.items():
        if isinstance(value, torch.Tensor):
            zeros[key] = torch.zeros_like(value)
        elif isinstance(value, bool | int | float):
            zeros[key] = type(value)(0)
    return zeros


def _saved(value: Any, array: Callable[[Any], np.ndarray]) -> np.ndarray:
    if isinstance(value, torch.Tensor):
        return array(value.clone())
    return np.asarray(value, np.float64)
