"""Every operator on every framework, generated from the cases that stand in the operators' own files."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from deep500 import registry
from deep500.contracts.operator import TensorSpec
from deep500.errors import Unsupported
from deep500.frameworks import available_frameworks, framework

from .checking import (
    XP,
    Example,
    cast,
    derivative_faults,
    examples,
    gradient_faults,
    is_float,
    marks,
    output_faults,
)
from .onnx_node import feeds, model_of

EXAMPLES = examples()
SMOOTH = [e for e in EXAMPLES if e.smooth]
STANDARD = [
    e
    for e in EXAMPLES
    if onnx.defs.has(name := type(e.operator).__name__, domain=e.operator.domain)
    and not onnx.defs.get_schema(name, domain=e.operator.domain).deprecated
    and not e.operator.random
]  # nobody else draws the same numbers
# The reference in float64 is the truth itself; ONNX Runtime has few float64 kernels.
DTYPES = {"reference": ["float32"], "onnxruntime": ["float32"]}
FIXED = {"jax", "onnxruntime"}  # formulas are compiled for fixed shapes
GAPS = {  # what another engine gets wrong; a gap that closes fails its test
    "onnxruntime": {
        **{
            name: "it has no recurrent kernels for batches first"
            for name in ("RNN-1", "LSTM-2", "GRU-2")
        },
        "LRN-1": "it has no kernel for windows of even size",
        **{
            f"{name}-{i}": "it has no optimizers"
            for name in ("Adagrad", "Adam", "Momentum")
            for i in range(3)
        },
        "DynamicQuantizeLinear-2": "its scale of nothing but zeros is 1, where ONNX says 1/255",
        "ReduceProd-2": "it makes no element of a product of none, which is 1",
        **{
            f"{name}-1": "it takes 1 from exp x, which cancels near 0"
            for name in ("Celu", "Elu", "Selu")
        },
        **{
            f"{name}-1": "its float64 window has the digits of float32"
            for name in ("BlackmanWindow", "HammingWindow")
        },
        "Sigmoid-3": "its float32 sigmoid is off by 1e-8 where the result is 2e-9",
        **{f"SwiGLU-{i}": "it does not know opset 28" for i in range(2)},
        **{f"FlexAttention-{i}": "it does not know the domain" for i in range(2)},
    },
    "onnx.reference": {
        **{
            name: "it takes no activations, no clip and no lengths"
            for name in (
                "RNN-1",
                "RNN-2",
                "RNN-3",
                "LSTM-3",
                "LSTM-4",
                "LSTM-5",
                "GRU-3",
                "GRU-4",
                "GRU-5",
            )
        },
        **{f"Adam-{i}": "it makes float64 of a single parameter" for i in (0, 2)},
        **{
            f"LRN-{i}": "it goes over examples in the place of channels"
            for i in range(4)
        },
        **{
            f"LpNormalization-{i}": "it adds up without taking absolute values"
            for i in (1, 3)
        },
        "ConvTranspose-1": "it takes the kernels of groups apart by the wrong axis",
        "Flatten-5": "it cannot flatten an empty array",
        "GatherElements-2": "it takes no indices that are fewer than the elements of another axis",
        **{f"GlobalLpPool-{i}": "it is not there" for i in range(3)},
        "GlobalMaxPool-1": "it is right for two spatial axes only",
        "Resize-5": "it takes no negative axes",
        **{f"MaxRoiPool-{i}": "it is not there" for i in range(2)},
        **{
            f"NonMaxSuppression-{i}": "it takes no thresholds that are scalars"
            for i in range(2)
        },
        "Pad-0": "it cannot crop",
        "LogSoftmax-4": "it takes the logarithm of a probability that has become 0",
        "SoftmaxCrossEntropyLoss-5": "it takes the logarithm of a probability that has become 0",
        **{
            f"MaxPool-{i}": "without strides its indices leave the input"
            for i in (1, 6, 8, 9)
        },
    },
}
NO_GRADIENT = {  # float inputs without a declared gradient
    **{
        (name, "x"): "what is drawn does not depend on it smoothly"
        for name in ("Bernoulli", "RandomNormalLike", "RandomUniformLike")
    },
    **{
        (name, place): "optimizers end where gradients begin"
        for name in ("Adagrad", "Adam", "Momentum")
        for place in ("r", "tensors")
    },
    (
        "NegativeLogLikelihoodLoss",
        "weight",
    ): "the weights of the classes are a setting of the loss",
    (
        "BatchNormalization",
        "input_mean",
    ): "running statistics are state, which nobody trains",
    (
        "BatchNormalization",
        "input_var",
    ): "running statistics are state, which nobody trains",
    ("CastLike", "like"): "only its dtype is read",
    ("DynamicQuantizeLinear", "x"): "it rounds",
    **{
        (name, "rois"): "regions are proposals, through which nobody trains"
        for name in ("MaxRoiPool", "RoiAlign")
    },
    ("EyeLike", "x"): "only its shape is read",
    (
        "SoftmaxCrossEntropyLoss",
        "weights",
    ): "the weights of the classes are a setting of the loss",
}


def grid(kernels: str, examples: list[Example] = EXAMPLES) -> Iterator:
    """Every example on every framework that runs it with such kernels, in every dtype."""
    for e in examples:
        for name in (
            name for name in available_frameworks() if _runs(e, name, kernels)
        ):
            for dtype in DTYPES.get(
                name, ["float32", "float64"] if e.floats else ["float32"]
            ):
                found = [
                    *marks(e, name, dtype),
                    *(gaps(name, e) if kernels == "native" else []),
                ]
                yield pytest.param(
                    e, name, dtype, id=f"{e.name}-{name}-{dtype}", marks=found
                )


def _runs(example: Example, name: str, kernels: str) -> bool:
    if kernels == "composed":
        return not (example.operator.data_dependent and name in FIXED)
    return framework(name).kernel(example.operator)[1] == kernels


def gaps(engine: str, example: Example) -> list:
    reason = GAPS.get(engine, {}).get(example.name)
    return [pytest.mark.xfail(reason=reason)] if reason else []


each = pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.name)


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    for name in available_frameworks():
        framework(name).set_threads(1)


@pytest.mark.parametrize(("example", "name", "dtype"), list(grid("composed")))
def test_the_formula_gives_the_same_everywhere(
    example: Example, name: str, dtype: str
) -> None:
    got = framework(name).evaluate(
        example.operator, cast(example.inputs, dtype), composed=True
    )
    assert len(got) == len(example.outputs)
    assert output_faults(example, got, dtype) == []


@pytest.mark.parametrize(("example", "name", "dtype"), list(grid("composed", SMOOTH)))
def test_the_derivative_gives_the_same_everywhere(
    example: Example, name: str, dtype: str
) -> None:
    got = framework(name).gradient(
        example.operator, cast(example.inputs, dtype), cast(example.seeds, dtype)
    )
    assert gradient_faults(example, got, dtype) == []


@pytest.mark.parametrize(("example", "name", "dtype"), list(grid("native")))
def test_native_kernels_agree_with_the_formula(
    example: Example, name: str, dtype: str
) -> None:
    got = framework(name).evaluate(example.operator, cast(example.inputs, dtype))
    assert output_faults(example, got, dtype) == []


@pytest.mark.parametrize("example", SMOOTH, ids=lambda e: e.name)
def test_the_derivative_agrees_with_central_differences(example: Example) -> None:
    assert derivative_faults(example, example.gradients) == []


@each
def test_every_float_input_has_a_gradient_or_a_reason(example: Example) -> None:
    names = [*example.operator.inputs]
    without = {
        names[min(i, len(names) - 1)]
        for i in example.floats
        if example.gradients[i] is None
    }
    if any(map(is_float, example.outputs)):  # nothing else has a derivative
        assert without == {
            name
            for operator, name in NO_GRADIENT
            if operator == type(example.operator).__name__
            and names.index(name) in example.floats
        }


@each
def test_infer_foretells_shapes_and_dtypes(example: Example) -> None:
    made = example.operator.published(example.operator.run(XP, *example.inputs))
    found, right = (
        example.operator.infer(*example.tensors),
        tuple(TensorSpec(y.shape, str(y.dtype)) for y in made),
    )
    if example.operator.data_dependent:
        pairs = list(zip(found, right, strict=True))
        assert all(
            t.dtype == r.dtype and np.all(np.less_equal(r.shape, t.shape))
            for t, r in pairs
        )
    else:
        assert found == right
    assert example.operator.flops(*example.tensors) >= 0
    assert example.operator.bytes_moved(*example.tensors) >= 0


@pytest.mark.parametrize(
    "example",
    [pytest.param(e, id=e.name, marks=gaps("onnxruntime", e)) for e in STANDARD],
)
def test_the_formula_is_what_onnxruntime_computes(
    example: Example, monkeypatch: pytest.MonkeyPatch
) -> None:
    # or it refuses opsets that it has kernels for
    monkeypatch.setenv("ALLOW_RELEASED_ONNX_OPSET_ONLY", "0")
    session = framework("onnxruntime").session(model_of(example))  # type: ignore[attr-defined]
    assert output_faults(example, session.run(None, feeds(example)), "float32") == []


@pytest.mark.parametrize(
    "example",
    [pytest.param(e, id=e.name, marks=gaps("onnx.reference", e)) for e in STANDARD],
)
def test_the_formula_is_what_onnx_says(example: Example) -> None:
    with np.errstate(all="ignore"):
        got: Any = ReferenceEvaluator(model_of(example)).run(None, feeds(example))
    assert output_faults(example, got, "float32") == []


@pytest.mark.parametrize(
    "example", [e for e in EXAMPLES if e.operator.data_dependent], ids=lambda e: e.name
)
def test_where_shapes_are_fixed_what_decides_on_them_by_values_is_refused(
    example: Example,
) -> None:
    for name in FIXED & set(available_frameworks()):
        with pytest.raises(Unsupported, match="depends on their values"):
            framework(name).evaluate(example.operator, example.inputs, composed=True)


def test_every_operator_has_cases() -> None:
    assert {type(e.operator).__name__ for e in EXAMPLES} == set(
        registry.known("operators")
    )
