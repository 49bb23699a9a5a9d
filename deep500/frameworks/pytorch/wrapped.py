"""A torch.nn.Module as an executor: it keeps its parameters, we name its inputs and outputs and train it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from ...contracts import random_key
from ...contracts.dtypes import name_of
from ...contracts.executor import Executor, Values
from ...contracts.framework import Framework
from ...contracts.loss import Loss
from ...contracts.native_optimizer import NativeOptimizer
from ...contracts.network import Node
from ...contracts.operator import Tensor
from ...contracts.optimizer import Optimizer
from ...contracts.wrapping import (
    NativeLoss,
    Wrapped,
    Wrapping,
    arguments_of,
    loss_expected,
)
from ...errors import Deep500Error
from .gradients import AutogradExecutor
from .graph import Formula
from .native_step import TorchOptimStep
from .step import PyTorchStep


class WrappedModule(AutogradExecutor):
    """Runs a module as it is. Parameters, named as in its state_dict, stay the module's own and where they are.

    So a step changes them in place, tied ones count once under their first name, and `flat_params` copies. The mode of
    the module follows `training`, but what was in evaluation mode inside a module in training mode stays there.
    """

    def __init__(
        self,
        framework: Framework,
        module: torch.nn.Module,
        wrapping: Wrapping,
        seed: int | None,
        compile: bool,
    ):
        own = getattr(module, "_orig_mod", module)  # what torch.compile has wrapped
        params = _named_tensors(own)
        self._module = own
        self._frozen = _in_evaluation(own)
        self._draws_by_seed = seed is not None
        call = torch.compile(module) if compile else module
        loss = self._loss(framework, wrapping.loss)
        arguments = arguments_of(own.forward, wrapping.inputs)
        self._wrapped = Wrapped(type(own).__name__, call, arguments, wrapping, loss)
        self._specs = {
            name: Tensor(tuple(p.shape), name_of(p.dtype)) for name, p in params.items()
        }
        trained = {name: p for name, p in params.items() if p.requires_grad}
        outline = self._wrapped.outline(self._specs, trained)
        super().__init__(framework, outline, seed or 0, compile)
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
        if self._module.training:
            self._set_mode(False)
        try:
            with torch.no_grad():
                return self._run(inputs)[0]
        finally:
            if self._training:
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
        self.backward(self._wrapped.differentiated(outputs, values, y), y)
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
        if (
            wrapped.outputs != self.structure.outputs
        ):  # known when it has run for the first time
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
        kernel, word = self.choose(node, node.inputs)
        if word == "native" or not node.operator.differentiable:
            return kernel(*inputs)
        return Formula.apply(node.operator, self.framework.xp, *inputs)

    def _set_mode(self, training: bool) -> None:
        self._module.train(training)
        for module in self._frozen:
            module.training = False

    @contextmanager
    def _drawing(self, step: int, first_row: int) -> Iterator[None]:
        """With a seed, draw by it, the step and the row; PyTorch's own generator is left as it was."""
        if not self._draws_by_seed:
            yield
            return
        words = random_key.derive(self.seed, "module", first_row, step)
        before = torch.get_rng_state()
        torch.default_generator.manual_seed(words[0] << 32 | words[1])
        try:
            yield
        finally:
            torch.set_rng_state(before)

    # The module's tensors lie where the module has put them.

    def _flat_params(self) -> dict[str, np.ndarray]:
        return Executor._flat_params(self)

    def _load_flat_params(self, buffers: Mapping[str, np.ndarray]) -> None:
        Executor._load_flat_params(self, buffers)


def _named_tensors(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Parameters and buffers by their names in the state_dict; a tied one once, under its first name."""
    tensors: dict[str, torch.Tensor] = {}
    seen: set[int] = set()
    for name, value in module.state_dict(keep_vars=True).items():
        if not isinstance(value, torch.Tensor) or id(value) in seen:
            continue
        if torch.nn.parameter.is_lazy(value):
            raise Deep500Error(
                f"{name!r} of {type(module).__name__} has no shape yet (a lazy module): run the module "
                "on a batch first"
            )
        seen.add(id(value))
        tensors[name] = value
    return tensors


def _in_evaluation(module: torch.nn.Module) -> list[torch.nn.Module]:
    """The parts of a module in training mode that its user has put into evaluation mode."""
    if not module.training:
        return []
    return [part for part in module.modules() if not part.training]
