"""Operation counts against an independent count, and against formulas written down by hand."""

import pytest
from torch.utils.flop_counter import FlopCounterMode

from deep500.contracts.operator import TensorSpec
from deep500.frameworks import framework
from deep500.operators import (
    BatchNormalization,
    Cast,
    CastLike,
    Conv,
    Flatten,
    Gelu,
    Gemm,
    Identity,
    MatMul,
    Max,
    MaxPool,
    Relu,
    Reshape,
    Where,
)

from .checking import Example, examples

COUNTED = [e for e in examples() if type(e.operator) in (Gemm, MatMul, Conv)]


def counted(example: Example) -> int:
    """What PyTorch counts in its own kernels: products and sums, no biases."""
    with FlopCounterMode(display=False) as counter:
        framework("pytorch").evaluate(example.operator, example.inputs)
    return counter.get_total_flops()


@pytest.mark.parametrize("example", COUNTED, ids=lambda e: e.name)
def test_flops_are_those_that_pytorch_counts(example: Example) -> None:
    # PyTorch leaves out mv and dot
    uncounted = isinstance(example.operator, MatMul) and example.inputs[1].ndim == 1
    bias = example.outputs[0].size if len(example.inputs) == 3 else 0
    expected = 2 * example.inputs[0].size if uncounted else counted(example)
    assert example.operator.flops(*example.tensors) - bias == expected


def test_a_wrong_count_is_found() -> None:
    example = next(
        e for e in COUNTED if isinstance(e.operator, Conv) and len(e.inputs) == 2
    )  # no bias to subtract
    flops = example.operator.flops(*example.tensors)
    # half: a product and a sum taken for one
    assert flops == counted(example) and flops // 2 != counted(example)


@pytest.mark.parametrize(
    ("operator", "inputs", "flops", "moved"),
    [
        (
            Gemm(),
            [TensorSpec((4, 5)), TensorSpec((5, 3)), TensorSpec((3,))],
            4 * 3 * (2 * 5 + 1),
            4 * (20 + 15 + 3 + 12),
        ),
        (
            Conv(),
            [TensorSpec((2, 3, 8, 8)), TensorSpec((4, 3, 3, 3))],
            2 * 4 * 36 * 2 * 27,
            4 * (384 + 108 + 288),
        ),
        (
            MaxPool((2, 2), strides=(2, 2)),
            [TensorSpec((1, 1, 4, 4))],
            16,
            4 * 16 + 4 * 4 + 8 * 4,
        ),
        (Relu(), [TensorSpec((10,), "float64")], 10, 160),
        (Gelu(), [TensorSpec((3, 2))], 6 * 8, 4 * 12),
        (
            Max(),
            [TensorSpec((2, 3)), TensorSpec((3,)), TensorSpec(())],
            6 * 2,
            4 * (6 + 3 + 1 + 6),
        ),
        (
            Where(),
            [TensorSpec((2,), "bool"), TensorSpec((3, 2)), TensorSpec(())],
            6,
            2 + 4 * (6 + 1 + 6),
        ),
        (Cast(to=7), [TensorSpec((5,))], 5, 4 * 5 + 8 * 5),
        (
            CastLike(),
            [TensorSpec((5,)), TensorSpec((100,), "float16")],
            5,
            4 * 5 + 2 * 5,
        ),
        (Identity(), [TensorSpec((5,))], 0, 0),
        (Flatten(), [TensorSpec((2, 3, 4))], 0, 0),
        (Reshape(), [TensorSpec((2, 3, 4)), (-1,)], 0, 0),
        (
            BatchNormalization(),
            [TensorSpec((2, 3)), *[TensorSpec((3,))] * 4],
            12,
            4 * (6 + 12 + 6 + 6),
        ),
    ],
)
def test_costs_written_down_by_hand(operator, inputs, flops, moved) -> None:
    assert operator.flops(*inputs) == flops
    assert operator.bytes_moved(*inputs) == moved
