"""An executor that runs and trains a torch.nn.Module, whose parameters stay in the module."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from ...contracts import random_key
from ...contracts.device import SIMULATED
from ...contracts.dtypes import name_of
from ...contracts.executor import Executor, Values
from ...contracts.framework import Framework
from ...contracts.loss import Loss
from ...contracts.native_optimizer import NativeOptimizer
from ...contracts.network import Node
from ...contracts.operator import TensorSpec
from ...contracts.optimizer import Optimizer
from ...errors import Deep500Error
from ...graph.wrapping import (
    NativeLoss,
    Wrapped,
    Wrapping,
    arguments_of,
    loss_expected,
)
from .gradients import AutogradExecutor
from .graph import FormulaFunction
from .native_step import TorchOptimStep
from .step import PyTorchStep


class WrappedModule(AutogradExecutor):
    """Runs a module as it is; parameters are named as in its state_dict and stay in the module's own tensors.

    A step changes them in place, tied parameters count once under their first name, and `flat_params` copies. Inference
    leaves the module in the mode in which it was; backprop and `training` set it, except for submodules that were in
    evaluation mode within a module in training mode.
    """

    def __init__(
        self,
        framework: Framework,
        module: torch.nn.Module,
        wrapping: Wrapping,
        seed: int | None,
        execution: str,
    ):
        # if torch.compile wraps it
        original = getattr(module, "_orig_mod", module)
        framework = _placed(framework, original)
        params = _named_tensors(original)
        self._module = original
        self._frozen = _in_evaluation(original)
        self._draws_by_seed = seed is not None
        compiled = execution == "compiled"
        call = torch.compile(module) if compiled else module
        loss = self._loss(framework, wrapping.loss)
        name = type(original).__name__
        arguments = arguments_of(original.forward, wrapping.inputs)
        self._wrapped = Wrapped(name, call, arguments, wrapping, loss)
        self._specs = _specs(params)
        trained = {}
        for path, param in params.items():
            if param.requires_grad:
                trained[path] = param
        outline = self._wrapped.outline(self._specs, trained)
        was_training = original.training
        super().__init__(framework, outline, seed or 0, execution)
        if not was_training:
            self._set_mode(False)
        self.params = params
        self.trained = trained

    @property
    def training(self) -> bool:
        return self._training

    @training.setter
    def training(self, value: bool) -> None:
        self._training = value
        self._set_mode(value)

    def inference(self, inputs: Mapping[str, Any]) -> Values:
        was_training = self._module.training
        if was_training:
            self._set_mode(False)
        try:
            with torch.no_grad():
                outputs, _ = self._run(inputs)
            return outputs
        finally:
            if was_training:
                self._set_mode(True)

    def inference_and_backprop(
        self,
        inputs: Mapping[str, Any],
        y: str = "loss",
        step: int = 0,
        first_row: int = 0,
    ) -> Values:
        if self._module.training != self._training:
            self._set_mode(self._training)
        with self._drawing(step, first_row):
            outputs, values = self._run(inputs)
        loss = self._wrapped.differentiated(outputs, values, y)
        self.backward(loss, y)
        return {name: value.detach() for name, value in outputs.items()}

    def _training_step(
        self, optimizer: Optimizer, y: str
    ) -> PyTorchStep | TorchOptimStep:
        if isinstance(optimizer, NativeOptimizer):
            return TorchOptimStep(self, optimizer, y)
        return PyTorchStep(self, optimizer, y)

    def _run(self, inputs: Mapping[str, Any]) -> tuple[Values, Values]:
        """The outputs, and the inputs that were used."""
        tensor = self.framework.tensor
        wrapped = self._wrapped
        values = {name: tensor(inputs[name]) for name in wrapped.known(inputs)}
        outputs = wrapped.run(values)
        # the names of the outputs are known after the first run
        if wrapped.outputs != self.structure.outputs:
            self.structure = wrapped.outline(self._specs, self.trained)
        return outputs, values

    def _loss(
        self, framework: Framework, loss: Any
    ) -> Callable[[Any, Any], Any] | None:
        if isinstance(loss, Loss):
            return NativeLoss(loss, framework.xp, self._kernel)
        if loss is not None and (not callable(loss) or isinstance(loss, type)):
            raise loss_expected(loss, "torch.nn.CrossEntropyLoss()")
        return loss

    def _kernel(self, node: Node, inputs: Sequence[Any]) -> tuple:
        kernel, kind = self.choose(node, node.inputs)
        if kind == "native" or not node.operator.differentiable:
            return kernel(*inputs)
        return FormulaFunction.apply(node.operator, self.framework.xp, *inputs)

    def _set_mode(self, training: bool) -> None:
        self._module.train(training)
        for module in self._frozen:
            module.training = False

    @contextmanager
    def _drawing(self, step: int, first_row: int) -> Iterator[None]:
        """With a seed, draw random numbers by seed, step and row, and restore PyTorch's generator afterwards."""
        if not self._draws_by_seed:
            yield
            return
        key = random_key.derive(self.seed, "module", first_row, step)
        seed = key[0] << 32 | key[1]
        before = torch.get_rng_state()
        torch.default_generator.manual_seed(seed)
        try:
            with self._drawing_on_device(seed):
                yield
        finally:
            torch.set_rng_state(before)

    @contextmanager
    def _drawing_on_device(self, seed: int) -> Iterator[None]:
        """The same for the generator of the accelerator, if it has one of its own."""
        device = self.accelerator
        if device is None or device.type == SIMULATED:
            yield
            return
        module: Any = torch.get_device_module(device)
        before = module.get_rng_state()
        module.manual_seed(seed)
        try:
            yield
        finally:
            module.set_rng_state(before)

    # The module's tensors are not in flat buffers, so that these two have to copy.

    def _flat_params(self) -> dict[str, np.ndarray]:
        return Executor._flat_params(self)

    def _load_flat_params(self, buffers: Mapping[str, np.ndarray]) -> None:
        Executor._load_flat_params(self, buffers)


def _placed(framework: Framework, module: torch.nn.Module) -> Framework:
    """The framework on the module's device; on an accelerator that was asked for, the module is moved there."""
    if not framework.on_host:
        module.to(framework.device)
        return framework
    devices = {str(param.device) for param in module.parameters()}
    if len(devices) > 1:
        places = ", ".join(sorted(devices))
        owner = type(module).__name__
        raise Deep500Error(
            f"the parameters of {owner} are on several devices ({places}): move them to one, or give device="
        )
    return framework.on(devices.pop()) if devices else framework


def _specs(params: Mapping[str, torch.Tensor]) -> dict[str, TensorSpec]:
    specs = {}
    for name, param in params.items():
        specs[name] = TensorSpec(tuple(param.shape), name_of(param.dtype))
    return specs


def _named_tensors(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Parameters and buffers by their names in the state_dict; tied ones appear once, under their first name."""
    tensors: dict[str, torch.Tensor] = {}
    seen: set[int] = set()
    for name, value in module.state_dict(keep_vars=True).items():
        if not isinstance(value, torch.Tensor) or id(value) in seen:
            continue
        if torch.nn.parameter.is_lazy(value):
            owner = type(module).__name__
            raise Deep500Error(
                f"{name!r} of {owner} has no shape yet (a lazy module): run the module on a batch first"
            )
        seen.add(id(value))
        tensors[name] = value
    return tensors


def _in_evaluation(module: torch.nn.Module) -> list[torch.nn.Module]:
    """The submodules of a module in training mode that are in evaluation mode."""
    if not module.training:
        return []
    return [part for part in module.modules() if not part.training]
