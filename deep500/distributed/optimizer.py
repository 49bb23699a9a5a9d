"""Distributed optimizers as plain classes: a step of one's own between backprop and update."""

from collections.abc import Mapping
from typing import Any

from ..contracts.executor import Executor, Values
from ..contracts.optimizer import Optimizer
from ..contracts.three_step import ThreeStepOptimizer
from ..training.three_step import three_steps
from .communication import Communication, communication


class DistributedOptimizer:
    """Any optimizer on many ranks. A subclass writes `step`; as it stands, gradients are averaged over all ranks.

    base_optimizer   The optimizer as three steps: new_input(), prepare_param(name), update_rule(grad, param, name); and
                     `loss`, the name of the output that is differentiated.
    communication    The ranks of the launcher, unless others are given.
    executor         What is trained; `network` is its network.
    """

    def __init__(
        self,
        base_optimizer: Optimizer | ThreeStepOptimizer,
        executor: Executor,
        communication: Communication | None = None,
        loss: str = "loss",
    ):
        self.executor = executor
        self.network = executor.network
        self.base_optimizer = three_steps(base_optimizer, executor, loss)
        self.communication = communication or _launched()

    def step(self, inputs: Mapping[str, Any]) -> Values:
        """One step on this rank's part of a batch; the outputs from before the update."""
        self.base_optimizer.new_input()
        for name in self.network.get_params():
            self.base_optimizer.prepare_param(name)
        output = self.executor.inference_and_backprop(inputs, self.base_optimizer.loss)
        name_pairs = self.network.gradient(self.base_optimizer.loss)
        for param_name, grad_name in name_pairs:
            param, grad = self.network.fetch_tensors([param_name, grad_name])
            mean = self.communication.all_reduce(grad) / self.communication.size
            param = self.base_optimizer.update_rule(mean, param, param_name)
            self.network.feed_tensor(param_name, param)
        return output


def _launched() -> Communication:
    return communication()
