"""A network in PyTorch: generated code, and parameters and gradients that each are views of one buffer."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ...contracts import tape
from ...contracts.executor import Executor, Values
from ...contracts.framework import Framework
from ...contracts.network import Network
from ...contracts.optimizer import Optimizer
from ...errors import Unsupported
from . import FRAMEWORK
from .graph import Program, compile_network
from .step import PyTorchStep, check_shapes

MOST_SHAPES = 32  # that code is generated for, each; further ones share code that works out shapes at every call


@dataclass(frozen=True)
class _Mode:
    """What code is for: the outputs that it makes, and the inputs that they need, with their dtypes."""

    outputs: tuple[str, ...]
    inputs: dict[str, torch.dtype]
    training: bool


class PyTorchExecutor(Executor):
    """Runs a network with PyTorch's kernels and autograd.

    `params` and `gradients` are the live tensors: a step changes them in place, while `arrays` copies.
    """

    def __init__(self, framework: Framework, network: Network):
        super().__init__(framework, network)
        arrays = self.structure.params
        self.flat = _flat({name: arrays[name] for name in self.structure.trainable})
        self.flat_gradient = torch.zeros_like(self.flat)
        trained, self.gradients = self.views(self.flat), self.views(self.flat_gradient)
        self.params = {
            name: trained[name].requires_grad_()
            if name in trained
            else FRAMEWORK.tensor(value.copy())
            for name, value in arrays.items()
        }
        for name, gradient in self.gradients.items():
            self.params[name].grad = gradient  # autograd adds to it in place
        self._modes: dict[tuple, _Mode] = {}
        self._programs: dict[tuple, Program] = {}

    def views(self, flat: torch.Tensor) -> dict[str, torch.Tensor]:
        """The trained parameters' parts of a buffer laid out like theirs, in their shapes."""
        shapes = [self.structure.params[name].shape for name in self.structure.trainable]
        parts = flat.split([math.prod(shape) for shape in shapes])
        return {
            name: part.view(shape)
            for name, part, shape in zip(self.structure.trainable, parts, shapes, strict=True)
        }

    def inference(self, inputs: Mapping[str, Any]) -> Values:
        inputs = self.keyed(inputs)
        key = ("inference", *inputs)
        if key not in self._modes:
            self._modes[key] = self._mode(self.structure.computable(inputs), training=False)
        with torch.no_grad():
            return self._run(key, inputs)

    def inference_and_backprop(
        self, inputs: Mapping[str, Any], y: str = "loss", step: Any = 0
    ) -> Values:
        key, updates = (y, self.training), self.structure.state_updates if self.training else {}
        if key not in self._modes:
            self.structure.gradient(y)  # which says so if there is no y
            wanted = (*self.structure.outputs, y, *updates.values())
            self._modes[key] = self._mode([*dict.fromkeys(wanted)], self.training)
        found = self._run(key, self.keyed(inputs, step))
        self.flat_gradient.zero_()
        if found[y].requires_grad:
            torch.autograd.backward(found[y], tape.seed(self.framework.xp, found[y], y))
        with torch.no_grad():
            for name, value in updates.items():
                self.params[name].copy_(found[value])
        return {name: found[name].detach() for name in self.structure.outputs}

    def training_step(self, optimizer: Optimizer, y: str = "loss") -> PyTorchStep:
        self.structure.warn_before_training()
        return PyTorchStep(self, optimizer, y)

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            name: self.framework.array(value.detach().clone())
            for name, value in self.params.items()
        }

    def load(self, arrays: Mapping[str, np.ndarray]) -> None:
        check_shapes(self.params, arrays)
        with torch.no_grad():
            for name, value in self.params.items():
                value.copy_(native(arrays[name], value.dtype))

    def _mode(self, outputs: list[str], training: bool) -> _Mode:
        _, inputs = self.structure.part(outputs, training)
        kinds = {name: getattr(torch, self.structure.inputs[name].dtype) for name in inputs}
        return _Mode(tuple(outputs), kinds, training)

    def _run(self, key: tuple, inputs: Mapping[str, Any]) -> Values:
        mode = self._modes[key]
        given = {
            name: native(inputs[name], kind) for name, kind in mode.inputs.items() if name in inputs
        }
        shapes = tuple(value.shape for value in given.values())
        program = self._programs.get((key, shapes)) or self._compile(key, mode, given)
        return dict(zip(mode.outputs, program(*given.values(), *self.params.values()), strict=True))

    def _compile(self, key: tuple, mode: _Mode, given: Mapping[str, torch.Tensor]) -> Program:
        self.structure.check_shapes(
            mode.inputs, {name: tuple(value.shape) for name, value in given.items()}
        )
        own = len(self._programs) < MOST_SHAPES
        place = (key, tuple(value.shape for value in given.values()) if own else None)
        if place not in self._programs:
            example = {**given, **self.params} if own else None
            self._programs[place] = compile_network(
                self.framework, self.structure, mode.outputs, mode.training, example
            )
        return self._programs[place]


def native(value: Any, kind: torch.dtype) -> torch.Tensor:
    """A tensor of this dtype; a NumPy array is shared, not copied, if it may be written to."""
    if not isinstance(value, torch.Tensor):
        value = FRAMEWORK.tensor(value)
    return value if value.dtype == kind else value.to(kind)


def _flat(arrays: Mapping[str, np.ndarray]) -> torch.Tensor:
    """One buffer with all of these behind each other."""
    if len(kinds := {value.dtype.name for value in arrays.values()}) > 1:
        raise Unsupported(
            f"parameters of different dtypes ({', '.join(sorted(kinds))}) cannot be trained together "
            "in PyTorch here: give all of them one dtype"
        )
    parts = [FRAMEWORK.tensor(value.reshape(-1)) for value in arrays.values()]
    return torch.cat(parts) if parts else torch.zeros(0)
