"""The network of one job in the process that times it: built, checked against the reference, and ready to run."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ... import registry
from ...check.networks.loading import load_network
from ...contracts.network import Network
from ...costs.examples import random_inputs
from ...costs.network_costs import network_costs
from ...costs.shapes import input_tensors, value_specs
from ...errors import Deep500Error, Unsupported, Wrong
from ...frameworks import framework
from ..benchmark import Subject
from ..device_clocks import device_clock
from ..memory_rise import memory_rise
from ..threads import use_threads
from .jobs import GRAPH, NetworkJob
from .measured_memory import measured_inference, measured_training

LEARNING_RATE = 1e-6  # so that thousands of timed steps change next to nothing
# the most that the reference, in NumPy, computes for a check
CHECKED_FLOPS = 4e9
# relative error of an output, in the norm
TOLERANCE = {"float16": 5e-2, "bfloat16": 2e-1}
USUAL_TOLERANCE = 1e-3


class NetworkSubject(Subject):
    """A network and its inputs: `run()` is one inference or one training step, without the conversion of the inputs.

    In a graph, it is the launch of what an eager run has launched when it was captured.
    """

    def __init__(self, job: NetworkJob):
        self.job = job
        network, self.sizes = load_network(job.model, job.attributes, job.transform)
        training = job.mode == "training"
        self.network = with_loss(network) if training else network
        self.engine = framework(job.framework)
        self.is_graph = job.execution == GRAPH
        self.execution = "eager" if self.is_graph else job.execution
        use_threads(job.framework, job.threads)
        self.tensors = input_tensors(self.network, job.batch, self.sizes)
        self.inputs = random_inputs(self.network, self.tensors)
        self.executor = self.engine.executor(self.network, execution=self.execution)
        self.native_inputs = {}
        for name, value in self.inputs.items():
            self.native_inputs[name] = self.engine.tensor(value)
        self.checked = ""  # which outputs were compared with the reference
        if job.mode == "inference":
            self._drop_unused_inputs()
        self.step = self._training_step() if training else None
        self.run = self._captured() if self.is_graph else self._launched
        if not self.engine.on_host:
            self.device_clock = device_clock(self.engine, job.cold)

    def _captured(self) -> Callable[[], Any]:
        self.engine.check_captures()
        if self.executor.random:
            raise Unsupported(
                f"{self.network.name} draws random numbers, and a graph would draw the same ones in every run: leave "
                "graph out, or give a network without them"
            )
        return self.engine.captured(self._launched, ())

    def _launched(self) -> Any:
        if self.step:
            return self.step(self.native_inputs)
        return self.executor.inference(self.native_inputs)

    def backprop(self) -> Any:
        """The run without the update."""
        if self.step:
            return self.executor.inference_and_backprop(self.native_inputs)
        return self.executor.inference(self.native_inputs)

    def check(self) -> None:
        """Compare one run with the reference. Raises `Wrong` if an output differs."""
        truth, rows = self._truth()
        arrays = {}
        run = self.run if self.is_graph else self.backprop
        for name, output in run().items():
            arrays[name] = np.asarray(self.engine.array(output))
        for name, expected in truth.items():
            self._compare(name, arrays[name], expected, rows)

    @property
    def kernels(self) -> dict[str, int]:
        """How many nodes run on each kind of kernel."""
        kinds = self.executor.kernels().values()
        return dict(Counter(kinds))

    def facts(self) -> dict[str, Any]:
        """The predicted costs of one run, and its measured peak of memory."""
        job = self.job
        training = self.step is not None
        optimizer = self.step.optimizer if self.step else None
        costs = network_costs(
            self.network,
            job.batch,
            sizes=self.sizes,
            framework=self.engine,
            optimizer=optimizer,
        )
        flops = costs.flops
        memory = costs.inference
        if training:
            flops += costs.backward_flops
            memory = costs.training or costs.inference
        measured, method = self._measured_memory()
        return {
            "checked": self.checked,
            "flops": flops,
            "bytes": costs.bytes_moved,
            "parameters": costs.parameters,
            "nodes": len(costs.nodes),
            "kernels": self.kernels,
            "predicted_memory": memory.peak,
            "measured_memory": measured,
            "memory_by": method,
        }

    def _measured_memory(self) -> tuple[int | None, str]:
        """The peak of a run in bytes, and whether the framework's allocator told it or the growth of the process."""
        engine, network, inputs = self.engine, self.network, self.inputs
        execution = self.execution
        try:
            if self.step:
                optimizer = self.step.optimizer
                peak = measured_training(
                    engine, network, inputs, optimizer, execution=execution
                )
            else:
                peak = measured_inference(engine, network, inputs, execution=execution)
            return peak, "allocator"
        except Unsupported:
            return memory_rise(self.run)[0], "process"

    def _training_step(self) -> Any:
        sgd: Any = registry.find("optimizers", "SGD")
        optimizer = sgd(learning_rate=LEARNING_RATE)
        return self.executor.training_step(optimizer)

    def _drop_unused_inputs(self) -> None:
        """Drop the inputs that only the loss needs, such as labels."""
        predictions = [name for name in self.network.outputs if name != "loss"]
        outputs = predictions or self.network.outputs
        _, needed = self.network.part(outputs, training=False)
        self.inputs = {name: self.inputs[name] for name in needed}
        self.native_inputs = {name: self.native_inputs[name] for name in needed}

    def _truth(self) -> tuple[Mapping[str, np.ndarray], int]:
        """The outputs of the reference and how many rows they have: only a few for a large network."""
        batch = self.job.batch
        costs = network_costs(self.network, batch, sizes=self.sizes)
        flops_per_row = costs.flops / batch
        reference = framework("reference").executor(self.network)
        reference.load(self.executor.arrays())  # which steps have changed
        if self.step:
            if 3 * flops_per_row * batch > CHECKED_FLOPS:
                self.checked = "nothing: too large for the reference"
                return {}, 0
            self.checked = "the outputs of a step"
            return reference.inference_and_backprop(self.inputs), batch
        affordable_rows = int(CHECKED_FLOPS / max(1, flops_per_row))
        rows = max(1, min(batch, affordable_rows))
        self.checked = "all outputs"
        if rows != batch:
            self.checked = f"the first {rows} rows of all outputs"
        return reference.inference(self._first(rows)), rows

    def _first(self, rows: int) -> dict[str, np.ndarray]:
        """The first rows of every input with an open batch dimension; the other inputs as they are."""
        inputs = {}
        for name, value in self.inputs.items():
            shape = self.network.inputs[name].shape
            inputs[name] = value[:rows] if _is_open(shape) else value
        return inputs

    def _compare(
        self, name: str, actual: np.ndarray, expected: np.ndarray, rows: int
    ) -> None:
        """Raises `Wrong` if the relative error of a float output is above the tolerance."""
        if actual.shape != expected.shape and actual.ndim:
            actual = actual[:rows]
        same_shape = actual.shape == expected.shape
        if not same_shape or not actual.size or expected.dtype.kind != "f":
            return
        right = np.asarray(expected, "float64")
        difference = np.asarray(actual, "float64") - right
        size = np.linalg.norm(right) or 1.0
        error = np.linalg.norm(difference) / size
        tolerance = TOLERANCE.get(str(expected.dtype), USUAL_TOLERANCE)
        if not error <= tolerance:
            job = self.job
            raise Wrong(
                f"{job.framework} {job.execution} gives a wrong {name!r} in {job.mode} with a "
                f"batch of {job.batch}: its relative error is {error:.2g}; `d5 check network` finds "
                "the node"
            )


def with_loss(network: Network) -> Network:
    """The network with a loss; if it has none, cross-entropy for a matrix, mean squared error for other outputs.

    Raises `Deep500Error` if it has no loss and several outputs.
    """
    if "loss" in network.outputs:
        return network
    sizes = dict.fromkeys(network.dimensions, 2)
    specs = value_specs(network, input_tensors(network, 2, sizes))
    output = specs.get(network.outputs[0])
    is_matrix = output is not None and len(output.shape) == 2
    name = "CrossEntropy" if is_matrix else "MeanSquaredError"
    loss: Any = registry.find("losses", name)
    if len(network.outputs) != 1:
        outputs = ", ".join(network.outputs)
        raise Deep500Error(
            f"a training step needs a loss, and the outputs are {outputs}: name one "
            "'loss', or leave --train out"
        )
    return loss().attach(network)


def _is_open(shape: tuple) -> bool:
    return bool(shape) and isinstance(shape[0], str)
