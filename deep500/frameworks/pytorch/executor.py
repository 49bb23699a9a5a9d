"""A network in PyTorch: generated code, and parameters that are views of flat buffers in the host's memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ...contracts.executor import Values
from ...contracts.framework import Framework
from ...contracts.network import Network
from ...contracts.optimizer import Optimizer
from ...errors import Unsupported, one_line
from . import FRAMEWORK
from .gradients import AutogradExecutor, native, tensors
from .graph import Program, compile_network
from .step import PyTorchStep

MOST_SHAPES = 32  # that code is generated for, each; further ones share code that works out shapes at every call


@dataclass(frozen=True)
class _Mode:
    """What code is for: the outputs that it makes, and the inputs that they need, with their dtypes."""

    outputs: tuple[str, ...]
    inputs: dict[str, torch.dtype]
    training: bool


class PyTorchExecutor(AutogradExecutor):
    """Runs a network with PyTorch's kernels and autograd.

    `params` are the live tensors: a step changes them in place, while `arrays` copies.
    """

    def __init__(
        self, framework: Framework, network: Network, seed: int = 0, compile: bool = False
    ):
        super().__init__(framework, network, seed, compile)
        self._param_buffers = self.layout.gather(network.params)
        self.flat = tensors(self._param_buffers)
        self.trained = self.layout.views(self.flat)
        for param in self.trained.values():
            param.requires_grad_()
        self.params = {
            name: self.trained[name] if name in self.trained else FRAMEWORK.tensor(value.copy())
            for name, value in network.params.items()
        }
        self._modes: dict[tuple, _Mode] = {}
        self._programs: dict[tuple, Program] = {}

    def inference(self, inputs: Mapping[str, Any]) -> Values:
        inputs = self.keyed(inputs)
        key = ("inference", *inputs)
        if key not in self._modes:
            self._modes[key] = self._mode(self.structure.computable(inputs), training=False)
        with torch.no_grad():
            return self._run(key, inputs)

    def inference_and_backprop(
        self, inputs: Mapping[str, Any], y: str = "loss", step: int = 0, first_row: int = 0
    ) -> Values:
        updates = self.structure.state_updates if self.training else {}
        key = (y, self.training)
        if key not in self._modes:
            self.structure.gradient(y)  # which says so if there is no y
            wanted = (*self.structure.outputs, y, *updates.values())
            self._modes[key] = self._mode([*dict.fromkeys(wanted)], self.training)
        results = self._run(key, self.keyed(inputs, step, first_row))
        self.backward(results[y], y)
        with torch.no_grad():
            for name, value in updates.items():
                self.params[name].copy_(results[value])
        return {name: results[name].detach() for name in self.structure.outputs}

    def training_step(self, optimizer: Optimizer, y: str = "loss") -> PyTorchStep:
        self.structure.warn_before_training()
        return PyTorchStep(self, optimizer, y)

    def _flat_params(self) -> dict[str, np.ndarray]:
        return self._param_buffers

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
            program = compile_network(self, mode.outputs, mode.training, example)
            if self.compile:
                program = self._compiled(program, given)
            self._programs[place] = program
        return self._programs[place]

    def _compiled(self, program: Program, given: Mapping[str, torch.Tensor]) -> Program:
        """The program through torch.compile, tried once: it compiles when first called."""
        compiled = self.framework.compile(program)
        try:
            compiled(*given.values(), *self.params.values())
        except torch._dynamo.exc.TorchDynamoException as error:
            raise Unsupported(
                f"PyTorch cannot compile the network {self.structure.name!r} ({one_line(error)}): "
                "leave compile out"
            ) from error
        return compiled
