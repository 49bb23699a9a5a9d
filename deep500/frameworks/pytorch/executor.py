"""A network in PyTorch: generated code, and parameters that are views of flat buffers in the host's memory."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch

from ...contracts.executor import Values
from ...contracts.framework import Framework
from ...contracts.native_optimizer import NativeOptimizer
from ...contracts.network import Network
from ...contracts.optimizer import Optimizer
from ...contracts.programs import Programs
from ...contracts.transformation import CLEAN_UP
from ...errors import Unsupported, one_line
from . import FRAMEWORK
from .gradients import AutogradExecutor, native, tensors
from .graph import Program, compile_network
from .native_step import TorchOptimStep
from .step import PyTorchStep

MOST_SHAPES = 32  # that code is generated for, each; further ones share code that works out shapes at every call


@dataclass(frozen=True)
class _Mode:
    """One way to run the network: the outputs that it makes, and the inputs and parameters that they need.

    `programs` holds the code by the shapes of the inputs; under None, code for any shapes.
    """

    outputs: tuple[str, ...]
    inputs: dict[str, torch.dtype]
    params: dict[str, torch.Tensor]
    training: bool
    programs: dict[tuple[torch.Size, ...] | None, Program] = field(default_factory=dict)

    @cached_property
    def arguments(self) -> tuple[torch.Tensor, ...]:
        """The parameters, as a program takes them behind the inputs."""
        return tuple(self.params.values())


class PyTorchExecutor(AutogradExecutor):
    """Runs a network with PyTorch's kernels and autograd.

    `params` are the live tensors: a step changes them in place, while `arrays` copies.
    """

    passes = CLEAN_UP

    def __init__(
        self,
        framework: Framework,
        network: Network,
        seed: int = 0,
        compile: bool = False,
    ):
        super().__init__(framework, network, seed, compile)
        self._param_buffers = self.layout.gather(network.params)
        self.flat = tensors(self._param_buffers)
        self.trained = self.layout.views(self.flat)
        for param in self.trained.values():
            param.requires_grad_()
        self.params = {
            name: self.trained[name]
            if name in self.trained
            else FRAMEWORK.tensor(value.copy())
            for name, value in network.params.items()
        }
        self.programs: Programs[_Mode] = Programs()

    def inference(self, inputs: Mapping[str, Any]) -> Values:
        if not self.takes_inputs_as_they_are:
            inputs = self.keyed(inputs)
        key = (self.decided, "inference", *inputs)
        mode = self.programs.recall(key)
        if mode is None:
            mode = self.programs.find(key, lambda: self._inference_mode(inputs))
        was_enabled = torch.is_grad_enabled()
        torch._C._set_grad_enabled(
            False
        )  # torch.no_grad() costs as much as a small operator
        try:
            results = self._run(mode, inputs)
        finally:
            torch._C._set_grad_enabled(was_enabled)
        return dict(zip(mode.outputs, results, strict=True))

    def inference_and_backprop(
        self,
        inputs: Mapping[str, Any],
        y: str = "loss",
        step: int = 0,
        first_row: int = 0,
    ) -> Values:
        if not self.takes_inputs_as_they_are:
            inputs = self.keyed(inputs, step, first_row)
        updates = self.structure.state_updates if self.training else {}
        mode = self._training_mode(y, updates)
        results = dict(zip(mode.outputs, self._run(mode, inputs), strict=True))
        self.backward(results[y], y)
        if updates:
            with torch.no_grad():
                for name, value in updates.items():
                    self.params[name].copy_(results[value])
        return {name: results[name].detach() for name in self.structure.outputs}

    def _inference_mode(self, inputs: Mapping[str, Any]) -> _Mode:
        return self._mode(self.structure.computable(inputs), training=False)

    def _training_mode(self, y: str, updates: Mapping[str, str]) -> _Mode:
        def build() -> _Mode:
            self.structure.gradient(y)  # raises an error if there is no y
            wanted = (*self.structure.outputs, y, *updates.values())
            return self._mode([*dict.fromkeys(wanted)], self.training)

        return self.programs.find((self.decided, y, self.training), build)

    def _training_step(
        self, optimizer: Optimizer, y: str
    ) -> PyTorchStep | TorchOptimStep:
        if isinstance(optimizer, NativeOptimizer):
            return TorchOptimStep(self, optimizer, y)
        return PyTorchStep(self, optimizer, y)

    def _flat_params(self) -> dict[str, np.ndarray]:
        return self._param_buffers

    def _mode(self, outputs: list[str], training: bool) -> _Mode:
        nodes, inputs = self.graph_with(outputs).part(outputs, training)
        kinds = {
            name: getattr(torch, self.structure.inputs[name].dtype) for name in inputs
        }
        used = set(outputs)
        for node in nodes:
            used.update(name for name in node.inputs if isinstance(name, str))
        params = {name: value for name, value in self.params.items() if name in used}
        return _Mode(tuple(outputs), kinds, params, training)

    def _run(self, mode: _Mode, inputs: Mapping[str, Any]) -> tuple[torch.Tensor, ...]:
        """The outputs of a mode, in its order."""
        values = []
        shapes = []
        for name, kind in mode.inputs.items():
            value = inputs.get(name)
            if type(value) is not torch.Tensor or value.dtype != kind:
                if value is None:
                    continue  # whoever compiles says that it is missing
                value = native(value, kind)
            values.append(value)
            shapes.append(value.shape)
        program = mode.programs.get(tuple(shapes))
        if program is None:
            program = self._compile(mode, inputs, values)
        return program(*values, *mode.arguments)

    def _compile(
        self, mode: _Mode, inputs: Mapping[str, Any], values: list[torch.Tensor]
    ) -> Program:
        present = [name for name in mode.inputs if inputs.get(name) is not None]
        arguments = dict(zip(present, values, strict=True))
        shapes = {name: value.shape for name, value in arguments.items()}
        self.structure.check_shapes(
            mode.inputs, {n: tuple(s) for n, s in shapes.items()}
        )
        count = self._program_count() if self.decided is None else len(mode.programs)
        has_own = count < MOST_SHAPES
        place = tuple(shapes.values()) if has_own else None
        program = mode.programs.get(place)
        if program is None:
            example = {**arguments, **mode.params} if has_own else None
            program = compile_network(
                self, mode.outputs, [*mode.params], mode.training, example
            )
            if self.compile:
                program = self._compiled(program, values, mode)
            mode.programs[place] = program
        return program

    def _program_count(self) -> int:
        return sum(len(mode.programs) for mode in self.programs.values())

    def _compiled(
        self, program: Program, values: list[torch.Tensor], mode: _Mode
    ) -> Program:
        """The program through torch.compile, tried once: it compiles when first called."""
        compiled = self.framework.compile(program)
        try:
            compiled(*values, *mode.arguments)
        except torch._dynamo.exc.TorchDynamoException as error:
            raise Unsupported(
                f"PyTorch cannot compile the network {self.structure.name!r} ({one_line(error)}): "
                "leave compile out"
            ) from error
        return compiled
