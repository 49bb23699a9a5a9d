"""The backward pass of every differentiable operator as an ONNX model, judged by engines that are not ours.

Each case becomes a network of one node whose float inputs are parameters. onnx.reference runs the recorded model in
float64; where it is wrong itself, ONNX Runtime does so in float32.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx
import onnxruntime  # type: ignore[import-untyped]
import pytest
from onnx.reference import ReferenceEvaluator

from deep500.contracts.network import Network, take_keys
from deep500.errors import Unsupported
from deep500.frameworks import framework
from deep500.onnx.recording.graphs import backward_model
from deep500.onnx.recording.namespace import OnnxRecorder

from .checking import Example, examples, in_dtype, is_float

REFERENCE = framework("reference")
EXAMPLES = {e.name: e for e in examples() if e.smooth and not e.operator.data_dependent}
QUICK = {*random.Random(5).sample(sorted(EXAMPLES), 40), "LSTM-0", "GRU-0", "RNN-0"}
GAPS = {  # what onnx.reference gets wrong; a gap that closes fails its test
    "AffineGrid-0": "its grid is float32 whatever the input is",
    "AffineGrid-1": "its grid is float32 whatever the input is",
    "Conv-1": "it takes the kernels of groups apart by the wrong axis in ConvTranspose",
    "Conv-6": "it takes the kernels of groups apart by the wrong axis in ConvTranspose",
    "ConvTranspose-1": "it takes the kernels of groups apart by the wrong axis in ConvTranspose",
    "Flatten-5": "it cannot flatten an empty array",
    "GatherElements-2": "it takes no indices that are fewer than the elements of another axis",
    "Gelu-0": "its Erf has the digits of float32",
    "GlobalLpPool-0": "it is not there",
    "GlobalLpPool-1": "it is not there",
    "GlobalLpPool-2": "it is not there",
    "GlobalMaxPool-1": "it is right for two spatial axes only",
    "LpNormalization-1": "it adds up without taking absolute values",
    "LpNormalization-3": "it adds up without taking absolute values",
    "MaxPool-1": "without strides its indices leave the input",
    "MaxPool-6": "without strides its indices leave the input",
    "MaxPool-8": "without strides its indices leave the input",
    "MaxPool-9": "without strides its indices leave the input",
    "MaxRoiPool-0": "it is not there",
    "MaxRoiPool-1": "it is not there",
    "Pad-0": "it cannot crop",
    "RNN-1": "it knows no activation but Tanh",
    "Resize-5": "it takes no negative axes",
}
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Subject:
    """A network of one node, a weighted sum of its outputs as the loss, and the inputs that are no floats."""

    network: Network
    inputs: Arrays

    @classmethod
    def of(cls, example: Example, used: int) -> "Subject":
        """With the first `used` outputs of the node, as if nobody asked for the others."""
        network = Network(example.name)
        inputs: Arrays = {}
        names: list = []
        for k, value in enumerate(example.inputs):
            if not isinstance(value, np.ndarray):
                names.append(value)
                continue
            name = f"i{k}"
            names.append(name)
            if is_float(value):
                network.add_param(name, value)
            else:
                network.add_input(name, value.shape, value.dtype.name)
                inputs[name] = value
        outputs = [f"o{k}" for k in range(used)]
        network.add_node(example.operator, names, outputs)
        _add_loss(network, outputs, example)
        return cls(network, inputs)

    def gradients(self) -> Arrays:
        """Ours, by the reference."""
        executor = REFERENCE.executor(self.network)
        executor.inference_and_backprop(self.inputs)
        return {
            name: REFERENCE.array(value) for name, value in executor.gradients.items()
        }

    def model(self, xp: Any = None) -> onnx.ModelProto:
        """The backward pass, recorded by ONNX's schema or for an engine's kernels."""
        keyed = self.network.copy()
        take_keys(keyed)
        shapes = {name: tensor.shape for name, tensor in keyed.inputs.items()}
        return backward_model(xp or OnnxRecorder(), keyed, "loss", shapes)

    def feeds(self, model: onnx.ModelProto) -> Arrays:
        values = {
            **REFERENCE.executor(self.network).keyed(self.inputs),
            **self.network.params,
        }
        return {i.name: values[i.name] for i in model.graph.input}


def _add_loss(network: Network, outputs: list[str], example: Example) -> None:
    terms = []
    for k, (output, seed) in enumerate(zip(outputs, example.seeds, strict=False)):
        if seed is not None:
            weight = network.add_param(f"weight{k}", seed, trainable=False)
            weighted = network.add_node("Mul", (output, weight))
            terms.append(network.add_node("ReduceSum", (weighted,), keepdims=0))
    network.add_node("Sum", terms, ["loss"])
    network.add_output("loss")


def _outputs(model: onnx.ModelProto, values: list) -> Arrays:
    return dict(
        zip([output.name for output in model.graph.output], values, strict=True)
    )


def by_onnx(subject: Subject) -> Arrays:
    """What onnx.reference makes of the model."""
    model = subject.model()
    onnx.checker.check_model(model, full_check=True)
    return _outputs(model, ReferenceEvaluator(model).run(None, subject.feeds(model)))  # type: ignore[arg-type]


def by_onnxruntime(subject: Subject) -> Arrays:
    model = subject.model(framework("onnxruntime").xp)
    onnx.checker.check_model(model, full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return _outputs(model, session.run(None, subject.feeds(model)))


def faults(
    found: Mapping[str, np.ndarray], gradients: Arrays, tolerance: float
) -> list[str]:
    """The gradients that are not ours."""
    wrong = []
    for name, gradient in gradients.items():
        other = found[f"{name}.grad"]
        scale = max(1e-3, np.abs(gradient).max(initial=0))
        if other.shape != gradient.shape:
            wrong.append(f"{name}: {other.shape} in the place of {gradient.shape}")
        elif not np.abs(other - gradient).max(initial=0) <= tolerance * scale:
            wrong.append(f"{name}: {other} in the place of {gradient}")
    return wrong


def cases() -> Iterator:
    """Every example, with all its outputs used, and with the first alone where there are more."""
    for name, example in EXAMPLES.items():
        for used in sorted({1, len(example.outputs)}):
            if any(seed is not None for seed in example.seeds[:used]):
                marks = [] if name in QUICK else [pytest.mark.slow]
                yield pytest.param(name, used, id=f"{name}-{used}", marks=marks)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "used"), [*cases()])
def test_other_engines_find_our_gradients(name: str, used: int) -> None:
    subject = Subject.of(in_dtype(EXAMPLES[name], "float64"), used)
    gradients = subject.gradients()
    if name not in GAPS:
        assert not faults(by_onnx(subject), gradients, 1e-9)
        return
    with pytest.raises(Exception):  # noqa: B017  # whatever it raises
        assert not faults(by_onnx(subject), gradients, 1e-9)
    narrow = Subject.of(in_dtype(EXAMPLES[name], "float32"), used)
    assert not faults(by_onnxruntime(narrow), narrow.gradients(), 1e-4)


@pytest.mark.parametrize("name", ["LSTM-0", "GRU-0", "RNN-0"])
def test_onnx_runtime_trains_recurrent_operators_by_their_first_output(
    name: str,
) -> None:
    subject = Subject.of(EXAMPLES[name], 1)
    executor = framework("onnxruntime").executor(subject.network, threads=1)
    executor.inference_and_backprop(subject.inputs)
    found = {
        f"{n}.grad": executor.framework.array(g) for n, g in executor.gradients.items()
    }
    assert not faults(found, subject.gradients(), 1e-5)
    assert executor.kernels()[name.removesuffix("-0")] == "native"


def test_a_wrong_gradient_is_seen() -> None:
    example = EXAMPLES["Tanh-0"]
    subject = Subject.of(in_dtype(example, "float64"), 1)
    right = subject.gradients()
    wrong = {name: gradient * (1 + 1e-8) for name, gradient in right.items()}
    assert not faults(by_onnx(subject), right, 1e-9)
    assert faults(by_onnx(subject), wrong, 1e-9)


def test_a_wrong_derivative_is_seen() -> None:
    class Crooked(type(EXAMPLES["Tanh-0"].operator)):  # type: ignore[misc]
        def backward(self, xp, dy, y):
            return dy * (1 - y * y) * 1.01

    example = in_dtype(EXAMPLES["Tanh-0"], "float64")
    right = Subject.of(example, 1).gradients()
    crooked = Subject.of(replace(example, operator=Crooked()), 1)
    assert faults(by_onnx(crooked), right, 1e-9)


def test_a_shape_that_depends_on_values_is_refused_by_name() -> None:
    [example, *_] = (e for e in examples() if e.name == "Compress-0")
    with pytest.raises(Unsupported, match="out of the Compress 'Compress' has a shape"):
        Subject.of(example, 1).model()
