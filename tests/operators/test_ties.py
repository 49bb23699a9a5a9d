"""Where several elements are the extreme, differences say nothing: all of them share the gradient, as in PyTorch."""

import numpy as np
import pytest

from deep500.contracts.operator import Operator
from deep500.frameworks import framework
from deep500.operators import GlobalMaxPool, ReduceMax, ReduceMin, ScatterElements

TIED = np.array([[[2.0, 5.0, 5.0], [1.0, 1.0, 1.0]]], "float32")
ROW = np.array([[5.0, 5.0, 1.0]], "float32")
PLACES = np.array([[1, 1, 1]])


@pytest.mark.parametrize(
    ("operator", "inputs"),
    [
        (ReduceMax(), [TIED, (2,)]),
        (ReduceMin(), [TIED, (1, 2)]),
        (GlobalMaxPool(), [TIED]),
        (ScatterElements(axis=1, reduction="max"), [TIED[0, :1], PLACES, ROW]),
        (ScatterElements(axis=1, reduction="min"), [TIED[0, 1:], PLACES, ROW]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_ties_share_as_in_pytorch(operator: Operator, inputs: list) -> None:
    torch = framework("pytorch").module
    tensors = [
        torch.tensor(x, requires_grad=x.dtype.kind == "f")
        if isinstance(x, np.ndarray)
        else x
        for x in inputs
    ]
    made = framework("pytorch").kernel(operator)[0](*tensors)[0]
    seed = np.arange(1, made.numel() + 1, dtype="float32").reshape(made.shape)
    made.backward(torch.from_numpy(seed))
    found = framework("reference").gradient(operator, inputs, [seed])
    for tensor, gradient in zip(tensors, found, strict=True):
        if gradient is not None:
            np.testing.assert_allclose(gradient, tensor.grad.numpy(), rtol=1e-6)
