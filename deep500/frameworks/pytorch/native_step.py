"""A training step by an optimizer of torch.optim."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ...contracts.executor import TrainingStep, matching
from ...contracts.native_optimizer import NativeOptimizer
from .step import laid_out_as

if TYPE_CHECKING:
    from .executor import PyTorchExecutor
    from .wrapped import WrappedModule

TorchState = dict[str, torch.Tensor]


class TorchOptimStep(TrainingStep):
    """Forward and backward by the executor, then `step()` of PyTorch's optimizer.

    PyTorch makes the state of a parameter in its first step; until then, `state` has zeros in its place.
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
        """Zeros for all tensors of the state: a step on copies of the parameters shows which there are."""
        copies = {}
        for name, param in self.executor.trained.items():
            copies[name] = param.detach().clone().requires_grad_()
            copies[name].grad = torch.zeros_like(param)
        trial = self._created([*copies.values()])
        trial.step()
        return {name: _zeros(trial.state[copy]) for name, copy in copies.items()}

    def _update(self) -> None:
        gradients = self.executor.gradient_list()
        for param, gradient in zip(
            self.executor.trained.values(), gradients, strict=True
        ):
            param.grad = laid_out_as(
                param.detach(), gradient
            )  # as fused kernels go over both
        if self.optimizer.schedules:
            for group in self._torch_optimizer.param_groups:
                group["lr"] = self.optimizer.rate_at(self.count + 1)
        self._torch_optimizer.step()

    def state(self) -> dict[str, np.ndarray]:
        """The count of steps as "step", and every tensor of PyTorch's state as "parameter.tensor"."""
        array = self.executor.framework.array
        arrays = {"step": np.asarray(self.count, np.float32)}
        for name, param in self.executor.trained.items():
            current = self._torch_optimizer.state.get(param, {})
            for key, zeros in self._first_states[name].items():
                arrays[f"{name}.{key}"] = array(current.get(key, zeros).clone())
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
            keys = self._first_states[name]
            loaded = {key: tensor(arrays[f"{name}.{key}"]) for key in keys}
            for key, value in loaded.items():
                self._torch_optimizer.state[param][key] = laid_out_as(
                    param.detach(), value
                )


def _zeros(state: Mapping[str, Any]) -> TorchState:
    tensors = {
        key: value for key, value in state.items() if isinstance(value, torch.Tensor)
    }
    return {key: torch.zeros_like(value) for key, value in tensors.items()}
