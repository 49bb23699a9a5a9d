"""One job in the process that times it: the network is built, checked against the reference, and ready to run."""

from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from .... import registry
from ....contracts.network import Network
from ....errors import Deep500Error, Wrong
from ....frameworks import framework
from ..costs import network_costs
from ..examples import random_inputs
from ..loading import load_network
from ..shapes import input_tensors, value_specs
from .jobs import Job

LEARNING_RATE = 1e-6  # so that thousands of timed steps change next to nothing
CHECKED_FLOPS = 4e9  # the reference, in NumPy, is asked for no more
TOLERANCE = {
    "float16": 5e-2,
    "bfloat16": 2e-1,
}  # relative error of an output, in the norm
USUAL_TOLERANCE = 1e-3


class Subject:
    """`run()` is one inference, or one training step, with inputs that are on the framework's side already."""

    def __init__(self, job: Job):
        self.job = job
        network, self.sizes = load_network(job.model, job.settings)
        self.network = with_loss(network) if job.mode == "training" else network
        self.engine = framework(job.framework)
        _use_threads(job.framework, job.threads)
        self.tensors = input_tensors(self.network, job.batch, self.sizes)
        self.inputs = random_inputs(self.network, self.tensors)
        self.executor = self.engine.executor(self.network, compile=job.compile)
        self.given = {name: self.engine.tensor(x) for name, x in self.inputs.items()}
        self.checked = ""  # what of it was compared with the reference
        if job.mode == "inference":
            self._keep_what_is_needed()
        self.step = self._training_step() if job.mode == "training" else None
        self.check()

    def run(self) -> Any:
        if self.step:
            return self.step(self.given)
        return self.executor.inference(self.given)

    def backprop(self) -> Any:
        """The run without the update."""
        if self.step:
            return self.executor.inference_and_backprop(self.given)
        return self.executor.inference(self.given)

    def check(self) -> None:
        """Compare one run with the reference; `Wrong` says which output differs."""
        truth, rows = self._truth()
        outputs = self.backprop()
        found = {name: np.asarray(self.engine.array(y)) for name, y in outputs.items()}
        for name, right in truth.items():
            self._compare(name, found[name], right, rows)

    @property
    def kernels(self) -> dict[str, int]:
        """How many nodes run by which kind of kernel."""
        return dict(Counter(self.executor.kernels().values()))

    def _training_step(self) -> Any:
        sgd: Any = registry.find("optimizers", "SGD")
        return self.executor.training_step(sgd(learning_rate=LEARNING_RATE))

    def _keep_what_is_needed(self) -> None:
        """Without labels there is no loss to compute."""
        outputs = [
            name for name in self.network.outputs if name != "loss"
        ] or self.network.outputs
        _, needed = self.network.part(outputs, training=False)
        self.inputs = {name: self.inputs[name] for name in needed}
        self.given = {name: self.given[name] for name in needed}

    def _truth(self) -> tuple[Mapping[str, np.ndarray], int]:
        """What the reference computes, and for how many rows: of a large network, of a few only."""
        batch = self.job.batch
        each = network_costs(self.network, batch, sizes=self.sizes).flops / batch
        reference = framework("reference").executor(self.network)
        reference.load(self.executor.arrays())  # which steps have changed
        if self.step:
            if 3 * each * batch > CHECKED_FLOPS:
                self.checked = "nothing: too large for the reference"
                return {}, 0
            self.checked = "the outputs of a step"
            return reference.inference_and_backprop(self.inputs), batch
        rows = max(1, min(batch, int(CHECKED_FLOPS / max(1, each))))
        self.checked = (
            "all outputs" if rows == batch else f"the first {rows} rows of all outputs"
        )
        return reference.inference(self._first(rows)), rows

    def _first(self, rows: int) -> dict[str, np.ndarray]:
        dimensions = self.network.inputs
        return {
            name: x[:rows] if _is_open(dimensions[name].shape) else x
            for name, x in self.inputs.items()
        }

    def _compare(
        self, name: str, got: np.ndarray, right: np.ndarray, rows: int
    ) -> None:
        if got.shape != right.shape:
            got = got[:rows] if got.ndim else got
        if got.shape != right.shape or not got.size or right.dtype.kind != "f":
            return
        apart = np.linalg.norm(
            np.asarray(got, "float64") - np.asarray(right, "float64")
        )
        error = apart / (np.linalg.norm(np.asarray(right, "float64")) or 1.0)
        if not error <= TOLERANCE.get(str(right.dtype), USUAL_TOLERANCE):
            raise Wrong(
                f"{self.job.framework} {self.job.way} gives a wrong {name!r} in {self.job.mode} with a "
                f"batch of {self.job.batch}: its relative error is {error:.2g}; `d5 check network` finds "
                "the node"
            )


def with_loss(network: Network) -> Network:
    """The network, with a loss if it has none: cross-entropy of a matrix, squares of anything else."""
    if "loss" in network.outputs:
        return network
    tensors = input_tensors(network, 2, dict.fromkeys(network.dimensions, 2))
    last = value_specs(network, tensors).get(network.outputs[0])
    matrix = last is not None and len(last.shape) == 2
    loss: Any = registry.find(
        "losses", "CrossEntropy" if matrix else "MeanSquaredError"
    )
    if len(network.outputs) != 1:
        raise Deep500Error(
            f"a training step needs a loss, and the outputs are {', '.join(network.outputs)}: name one "
            "'loss', or leave --train out"
        )
    return loss().attach(network)


def _is_open(shape: tuple) -> bool:
    return bool(shape) and isinstance(shape[0], str)


@cache
def _use_threads(name: str, count: int) -> None:
    """Once per process: some frameworks start their threads once and for all."""
    if count and framework(name).sets_threads:
        framework(name).set_threads(count)
