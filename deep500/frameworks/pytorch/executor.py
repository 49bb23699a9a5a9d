"""Runs a network in PyTorch by generated code; its parameters are views of flat buffers in the device's memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch

from ...contracts.executor import Executor, Values
from ...contracts.framework import Framework
from ...contracts.native_optimizer import NativeOptimizer
from ...contracts.network import Network
from ...contracts.optimizer import Optimizer
from ...contracts.transformation import CLEAN_UP
from ...errors import Unsupported, one_line
from ...graph.programs import Programs
from .gradients import AutogradExecutor
from .graph import Program, compile_network
from .native_step import TorchOptimStep
from .step import PyTorchStep

# Input shapes that get code of their own; all others share code that computes shapes at every call.
MOST_SHAPES = 32


@dataclass(frozen=True)
class _Mode:
    """One way to run the network: the outputs to compute, and the inputs and parameters that they need.

    `programs` holds the generated code by the shapes of the inputs; the code under None is for any shapes.
    """

    outputs: tuple[str, ...]
    inputs: dict[str, torch.dtype]
    params: dict[str, torch.Tensor]
    training: bool
    programs: dict[tuple[torch.Size, ...] | None, Program] = field(default_factory=dict)

    @cached_property
    def arguments(self) -> tuple[torch.Tensor, ...]:
        """The parameters, which a program takes after the inputs."""
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
        execution: str = "eager",
    ):
        super().__init__(framework, network, seed, execution)
        self._param_buffers = self.layout.gather(network.params)
        self.flat = self.native_buffers(self._param_buffers)
        self.trained = self.layout.views(self.flat)
        for param in self.trained.values():
            param.requires_grad_()
        self.params = {}
        for name, value in network.params.items():
            if name in self.trained:
                self.params[name] = self.trained[name]
            else:
                self.params[name] = framework.tensor(value.copy())
        self.programs: Programs[_Mode] = Programs()

    def inference(self, inputs: Mapping[str, Any]) -> Values:
        if not self.takes_inputs_as_they_are:
            inputs = self.keyed(inputs)
        key = (self.decided, "inference", *inputs)
        mode = self.programs.recall(key)
        if mode is None:
            mode = self.programs.find(key, lambda: self._inference_mode(inputs))
        was_enabled = torch.is_grad_enabled()
        # not by torch.no_grad(), which takes as long as a small operator
        torch._C._set_grad_enabled(False)
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
        values = self._run(mode, inputs)
        results = dict(zip(mode.outputs, values, strict=True))
        self.backward(results[y], y)
        if updates:
            with torch.no_grad():
                for name, value in updates.items():
                    self.params[name].copy_(results[value])
        return {name: results[name].detach() for name in self.structure.outputs}

    def forward_kept(
        self,
        inputs: Mapping[str, Any],
        outputs: Sequence[str],
        sources: Sequence[str] = (),
        step: int = 0,
        first_row: int = 0,
    ) -> tuple[Values, Any]:
        if not self.takes_inputs_as_they_are:
            inputs = self.keyed(inputs, step, first_row)
        leaves = {}
        for name in sources:
            if inputs[name].is_floating_point():
                leaves[name] = inputs[name].detach().requires_grad_()
        key = (self.decided, "kept", *outputs)
        mode = self.programs.find(key, lambda: self._mode([*outputs], self.training))
        values = self._run(mode, {**inputs, **leaves})
        results = dict(zip(mode.outputs, values, strict=True))
        detached = {name: value.detach() for name, value in results.items()}
        return detached, (results, leaves)

    def pull(
        self, kept: Any, gradients: Mapping[str, Any]
    ) -> tuple[Values, Mapping[str, np.ndarray]]:
        results, leaves = kept
        names = [name for name in gradients if results[name].requires_grad]
        buffers = self.gradient_buffers()
        if not names:
            self.store_gradients([None] * len(self.trained))
            return {}, buffers
        pulled = torch.autograd.grad(
            [results[name] for name in names],
            [*self.trained.values(), *leaves.values()],
            [gradients[name] for name in names],
            allow_unused=True,
        )
        count = len(self.trained)
        self.store_gradients(pulled[:count])
        of_leaves = {}
        for name, gradient in zip(leaves, pulled[count:], strict=True):
            if gradient is not None:
                of_leaves[name] = gradient
        return of_leaves, buffers

    def share_params(self, other: Executor) -> None:
        super().share_params(other)
        for name in self.trained:
            self.trained[name] = self.params[name]

    def _inference_mode(self, inputs: Mapping[str, Any]) -> _Mode:
        return self._mode(self.structure.computable(inputs), training=False)

    def _training_mode(self, y: str, updates: Mapping[str, str]) -> _Mode:
        def build() -> _Mode:
            self.structure.gradient(y)  # raises an error if there is no y
            outputs = (*self.structure.outputs, y, *updates.values())
            distinct = [*dict.fromkeys(outputs)]
            return self._mode(distinct, self.training)

        return self.programs.find((self.decided, y, self.training), build)

    def _training_step(
        self, optimizer: Optimizer, y: str
    ) -> PyTorchStep | TorchOptimStep:
        if isinstance(optimizer, NativeOptimizer):
            return TorchOptimStep(self, optimizer, y)
        return PyTorchStep(self, optimizer, y)

    def _flat_params(self) -> dict[str, np.ndarray]:
        if self.in_host_memory:
            return self._param_buffers
        return self.fetched(self.flat)

    def _mode(self, outputs: list[str], training: bool) -> _Mode:
        graph = self.graph_with(outputs)
        nodes, inputs = graph.part(outputs, training)
        dtypes = {}
        for name in inputs:
            spec = self.structure.inputs[name]
            dtypes[name] = getattr(torch, spec.dtype)
        used = set(outputs)
        for node in nodes:
            for value in node.inputs:
                if isinstance(value, str):
                    used.add(value)
        params = {}
        for name, tensor in self.params.items():
            if name in used:
                params[name] = tensor
        return _Mode(tuple(outputs), dtypes, params, training)

    def _run(self, mode: _Mode, inputs: Mapping[str, Any]) -> tuple[torch.Tensor, ...]:
        """The outputs of a mode, in its order."""
        values = []
        shapes = []
        device = self.accelerator
        for name, dtype in mode.inputs.items():
            value = inputs.get(name)
            if type(value) is not torch.Tensor or value.dtype != dtype:
                if value is None:
                    continue  # `_compile` raises an error that names it
                value = self.native(value, dtype)
            elif device is not None and value.device != device:
                value = self.native(value, dtype)
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
        shapes = {name: tuple(value.shape) for name, value in arguments.items()}
        self.structure.check_shapes(mode.inputs, shapes)
        place: tuple[torch.Size, ...] | None = None
        example = None
        count = self._program_count() if self.decided is None else len(mode.programs)
        if count < MOST_SHAPES:
            place = tuple([value.shape for value in values])
            example = arguments | mode.params
        program = mode.programs.get(place)
        if program is None:
            params = [*mode.params]
            program = compile_network(
                self, mode.outputs, params, mode.training, example
            )
            if self.execution == "compiled":
                program = self._compiled(program, values, mode)
            mode.programs[place] = program
        return program

    def _program_count(self) -> int:
        return sum(len(mode.programs) for mode in self.programs.values())

    def _compiled(
        self, program: Program, values: list[torch.Tensor], mode: _Mode
    ) -> Program:
        """The program through torch.compile, called once, since that is when PyTorch compiles it."""
        compiled = self.framework.compile(program)
        try:
            compiled(*values, *mode.arguments)
        except torch._dynamo.exc.TorchDynamoException as error:
            name, reason = self.structure.name, one_line(error)
            raise Unsupported(
                f"PyTorch cannot compile the network {name!r} ({reason}): leave compile out"
            ) from error
        return compiled
