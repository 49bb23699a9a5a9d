"""Every operator on every framework, generated from the cases that stand in the operators' own files."""

from collections.abc import Iterator

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from deep500 import registry
from deep500.contracts.operator import Tensor
from deep500.frameworks import available_frameworks, framework

from .checking import (
    XP,
    Example,
    autograd,
    cast,
    derivative_faults,
    examples,
    gradient_faults,
    is_float,
    output_faults,
)
from .onnx_node import feeds, model_of

EXAMPLES = examples()
SMOOTH = [e for e in EXAMPLES if e.smooth]
STANDARD = [e for e in EXAMPLES if onnx.defs.has(type(e.operator).__name__, domain=e.operator.domain)]
# The reference in float64 is the truth itself; ONNX Runtime has few float64 kernels.
DTYPES = {"reference": ["float32"], "fake": ["float32"], "onnxruntime": ["float32"]}
COMPILED = {"jax"}  # every case costs it 0.1 s: all but the first of each operator are left to the slow tests

GAPS = {  # what another engine gets wrong; a gap that closes fails its test
    "onnxruntime": {
        "ReduceProd-2": "it makes no element of a product of none, which is 1",
        "Sigmoid-3": "its float32 sigmoid is off by 1e-8 where the result is 2e-9",
    },
    "onnx.reference": {
        "Flatten-5": "it cannot flatten an empty array",
        "GatherElements-2": "it takes no indices that are fewer than the elements of another axis",
        **{f"GlobalLpPool-{i}": "it is not there" for i in range(3)},
        "GlobalMaxPool-1": "it is right for two spatial axes only",
        "Pad-0": "it cannot crop",
        "LogSoftmax-4": "it takes the logarithm of a probability that has become 0",
        "SoftmaxCrossEntropyLoss-5": "it takes the logarithm of a probability that has become 0",
        **{f"MaxPool-{i}": "without strides its indices leave the input" for i in (1, 6, 8, 9)},
    },
}
NO_GRADIENT = {  # float inputs without a declared gradient
    ("BatchNormalization", "input_mean"): "running statistics are state, which nobody trains",
    ("BatchNormalization", "input_var"): "running statistics are state, which nobody trains",
    ("CastLike", "like"): "only its dtype is read",
    ("EyeLike", "x"): "only its shape is read",
    ("SoftmaxCrossEntropyLoss", "weights"): "the weights of the classes are a setting of the loss",
}


def grid(kernels: str, examples: list[Example] = EXAMPLES) -> Iterator:
    """Every example on every framework that runs it with such kernels, in every dtype."""
    for name in available_frameworks():
        for e in examples:
            if kernels == "composed" or framework(name).kernel(e.operator)[1] == kernels:
                for dtype in DTYPES.get(name, ["float32", "float64"] if e.floats else ["float32"]):
                    marks = gaps(name, e) if kernels == "native" else []
                    if name in COMPILED and (dtype != "float32" or not e.name.endswith("-0")):
                        marks = [*marks, pytest.mark.slow]
                    yield pytest.param(e, name, dtype, id=f"{e.name}-{name}-{dtype}", marks=marks)


def gaps(engine: str, example: Example) -> list:
    reason = GAPS.get(engine, {}).get(example.name)
    return [pytest.mark.xfail(reason=reason)] if reason else []


each = pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.name)


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    for name in available_frameworks():
        framework(name).set_threads(1)


@pytest.mark.parametrize(("example", "name", "dtype"), list(grid("composed")))
def test_the_formula_gives_the_same_everywhere(example: Example, name: str, dtype: str) -> None:
    got = framework(name).evaluate(example.operator, cast(example.inputs, dtype), composed=True)
    assert len(got) == len(example.outputs)
    assert output_faults(example, got, dtype) == []


@pytest.mark.parametrize(("example", "name", "dtype"), list(grid("composed", SMOOTH)))
def test_the_derivative_gives_the_same_everywhere(example: Example, name: str, dtype: str) -> None:
    got = framework(name).gradient(example.operator, cast(example.inputs, dtype), cast(example.seeds, dtype))
    assert gradient_faults(example, got, dtype) == []


@pytest.mark.parametrize(("example", "name", "dtype"), list(grid("native")))
def test_native_kernels_agree_with_the_formula(example: Example, name: str, dtype: str) -> None:
    got = framework(name).evaluate(example.operator, cast(example.inputs, dtype))
    assert output_faults(example, got, dtype) == []


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("example", [e for e in SMOOTH if e.operator.native("pytorch")], ids=lambda e: e.name)
def test_autograd_through_native_kernels_agrees_with_the_derivative(example: Example, dtype: str) -> None:
    inputs = cast(example.inputs, dtype)
    before = [x.copy() if isinstance(x, np.ndarray) else x for x in inputs]
    assert gradient_faults(example, autograd(example, dtype, inputs), dtype) == []
    assert repr(before) == repr(list(inputs)), "the kernel changed its inputs"


@pytest.mark.parametrize("example", SMOOTH, ids=lambda e: e.name)
def test_the_derivative_agrees_with_central_differences(example: Example) -> None:
    assert derivative_faults(example, example.gradients) == []


@each
def test_every_float_input_has_a_gradient_or_a_reason(example: Example) -> None:
    names = [*example.operator.inputs]
    without = {names[min(i, len(names) - 1)] for i in example.floats if example.gradients[i] is None}
    if any(map(is_float, example.outputs)):  # nothing else has a derivative
        assert without == {name for operator, name in NO_GRADIENT
                           if operator == type(example.operator).__name__ and names.index(name) in example.floats}


@each
def test_infer_foretells_shapes_and_dtypes(example: Example) -> None:
    made = example.operator.published(example.operator.run(XP, *example.inputs))
    assert example.operator.infer(*example.tensors) == tuple(Tensor(tuple(y.shape), str(y.dtype)) for y in made)
    assert example.operator.flops(*example.tensors) >= 0
    assert example.operator.bytes_moved(*example.tensors) >= 0


@pytest.mark.parametrize("example", [pytest.param(e, id=e.name, marks=gaps("onnxruntime", e)) for e in STANDARD])
def test_the_formula_is_what_onnxruntime_computes(example: Example) -> None:
    session = framework("onnxruntime").session(model_of(example))
    assert output_faults(example, session.run(None, feeds(example)), "float32") == []


@pytest.mark.parametrize("example", [pytest.param(e, id=e.name, marks=gaps("onnx.reference", e)) for e in STANDARD])
def test_the_formula_is_what_onnx_says(example: Example) -> None:
    with np.errstate(all="ignore"):
        got = ReferenceEvaluator(model_of(example)).run(None, feeds(example))
    assert output_faults(example, got, "float32") == []


def test_every_operator_has_cases() -> None:
    assert {type(e.operator).__name__ for e in EXAMPLES} == set(registry.known("operators"))
