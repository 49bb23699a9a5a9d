"""DividedTraining steps on PyTorch: one network whose convolutions change their plans, and one with PyTorch's own."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ... import networks, registry
from ...costs.examples import random_inputs
from ...costs.shapes import input_tensors
from ...errors import Wrong
from ...frameworks import framework
from ...micro_batches.micro_batched_conv import MicroBatchedConv
from ...micro_batches.network_plan import convolution_layers
from ..benchmark import Subject
from ..convolutions.shapes import NETWORKS
from ..networks.subject import LEARNING_RATE
from ..threads import use_threads
from .jobs import MicroBatchJob

# of gradients, in the norm: float32 and Winograd's rounding, through all layers
TOLERANCE = 2e-2


@dataclass(frozen=True)
class DividedTraining:
    """A network that is ready to train, with its inputs; `divided` are its convolutions in micro-batches, by node."""

    executor: Any
    step: Any
    inputs: Mapping[str, Any]
    divided: Mapping[str, MicroBatchedConv]

    def gradients(self) -> dict[str, np.ndarray]:
        self.executor.inference_and_backprop(self.inputs)
        engine = self.executor.framework
        return {
            name: np.array(engine.array(gradient))
            for name, gradient in self.executor.gradients.items()
        }


class MicroBatchSubject(Subject):
    """A training step by the plans of a job."""

    arguments = ()

    def __init__(self, job: MicroBatchJob):
        use_threads("pytorch", job.threads)
        self.job = job
        self.training = _training(job.network, job.batch, job.threads, bool(job.plans))
        self.plans = []
        for node, *texts in job.plans:
            parsed = self.training.divided[node].parsed(texts)
            self.plans.append((self.training.divided[node], parsed))

    def run(self) -> Any:
        for divided, plans in self.plans:
            divided.use(plans)
        return self.training.step(self.training.inputs)

    def check(self) -> None:
        """Compare all gradients with those of PyTorch's own convolutions. Raises `Wrong` if one differs."""
        if not self.job.plans:
            return
        own = _training(self.job.network, self.job.batch, self.job.threads, False)
        self.training.executor.load(own.executor.arrays())
        for divided, plans in self.plans:
            divided.use(plans)
        expected = own.gradients()
        for name, gradient in self.training.gradients().items():
            difference = np.linalg.norm(gradient - expected[name])
            size = np.linalg.norm(expected[name]) or 1.0
            if not difference <= TOLERANCE * size:
                raise Wrong(
                    f"{self.job.name({})}: the gradient of {name!r} differs from PyTorch's by {difference / size:.2g} "
                    "of its norm"
                )

    def facts(self) -> dict[str, Any]:
        return {}


@lru_cache(maxsize=4)
def _training(name: str, batch: int, threads: int, divided: bool) -> DividedTraining:
    kind, settings = NETWORKS[name]
    network = networks.create(kind, seed=0, **settings)
    operators = {}
    if divided:
        for layer in convolution_layers(network, batch):
            plans = [f"{batch} direct"] * 3
            own = MicroBatchedConv(layer.conv, plans, threads, layer.bias)
            network.replace_node(layer.node, own.operator)
            operators[layer.node] = own
    engine = framework("pytorch")
    executor = engine.executor(network)
    sgd: Any = registry.find("optimizers", "SGD")
    step = executor.training_step(sgd(learning_rate=LEARNING_RATE))
    tensors = input_tensors(network, batch, {})
    inputs = random_inputs(network, tensors)
    native = {name: engine.tensor(value) for name, value in inputs.items()}
    return DividedTraining(executor, step, native, operators)
