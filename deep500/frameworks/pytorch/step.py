"""A whole training step in PyTorch: forward, backward, and the optimizer's pure formula on the executor's buffers."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ...contracts.executor import TrainingStep, Values
from ...contracts.optimizer import Optimizer
from ...errors import Deep500Error

if TYPE_CHECKING:
    from .executor import PyTorchExecutor

CHUNK = (
    1 << 18
)  # elements that an elementwise rule takes at once: what it makes on the way stays in the cache


class PyTorchStep(TrainingStep):
    """An elementwise rule goes over the flat buffer, any other one tensor by tensor; either way these are `params`."""

    def __init__(self, executor: "PyTorchExecutor", optimizer: Optimizer, y: str):
        self.executor, self.optimizer, self.y = executor, optimizer, y
        self.params, self.grads = self._pieces(executor.flat), self._pieces(executor.flat_gradient)
        self.states = [optimizer.init(executor.framework.xp, param) for param in self.params]
        self.step = torch.zeros(())
        native = optimizer.native(executor.framework.name)
        self.update = (
            partial(native, torch) if native else partial(optimizer.update, executor.framework.xp)
        )

    def __call__(self, inputs: Mapping[str, Any]) -> Values:
        outputs = self.executor.inference_and_backprop(inputs, self.y, self.step)
        with torch.no_grad():
            self.step += 1
            for i, (param, grad) in enumerate(zip(self.params, self.grads, strict=True)):
                new, self.states[i] = self.update(param, grad, self.states[i], self.step)
                if new is not param:
                    param.copy_(new)
        return outputs

    def state(self) -> dict[str, np.ndarray]:
        """The count of steps as "step", and every array of the optimizer's state as "parameter.array"."""
        array, found = self.executor.framework.array, {"step": self.step}
        for key in self.states[0]:
            by_param = self._by_param([state[key] for state in self.states])
            found |= {f"{name}.{key}": value for name, value in by_param.items()}
        return {name: array(value.clone()) for name, value in found.items()}

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        check_shapes(self.state(), state)
        tensors = {name: torch.tensor(value) for name, value in state.items()}
        self.step = tensors["step"]
        for key in self.states[0]:
            values = self._by_piece(
                [tensors[f"{name}.{key}"] for name in self.executor.structure.trainable], key
            )
            self.states = [
                own | {key: value} for own, value in zip(self.states, values, strict=True)
            ]

    def _pieces(self, flat: torch.Tensor) -> Sequence[torch.Tensor]:
        return (
            flat.split(CHUNK)
            if self.optimizer.elementwise
            else [*self.executor.views(flat).values()]
        )

    def _by_param(self, values: Sequence[torch.Tensor]) -> dict[str, torch.Tensor]:
        names = self.executor.structure.trainable
        if not self.optimizer.elementwise:
            return dict(zip(names, values, strict=True))
        if values[0].shape != self.params[0].shape:  # a number, the same for all
            return dict.fromkeys(names, values[0])
        return self.executor.views(torch.cat(list(values)))

    def _by_piece(self, values: Sequence[torch.Tensor], key: str) -> Sequence[torch.Tensor]:
        if not self.optimizer.elementwise:
            return values
        if self.states[0][key].shape != self.params[0].shape:
            return [values[0]] * len(self.states)
        return torch.cat([value.reshape(-1) for value in values]).split(CHUNK)


def check_shapes(own: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Refuse arrays that are not, by name and shape, the ones to be replaced."""
    if own.keys() != given.keys():
        raise Deep500Error(
            f"other arrays than there are to set: {', '.join(sorted(own.keys() ^ given.keys()))} "
            f"{'is' if len(own.keys() ^ given.keys()) == 1 else 'are'} only on one side"
        )
    for name, value in own.items():
        if tuple(value.shape) != tuple(given[name].shape):
            raise Deep500Error(
                f"{name!r} has the shape {tuple(value.shape)}, not {tuple(given[name].shape)}"
            )
