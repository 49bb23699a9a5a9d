"""An input that a native kernel does not take leaves the call to the formula, and the word says so."""

import numpy as np
import pytest

from deep500.contracts.calls import forward
from deep500.errors import Unsupported
from deep500.frameworks import framework
from deep500.operators import LSTM, Mod

STEPS, BATCH, SIZE = 3, 2, 4


def given(lengths: list[int] | None) -> list[np.ndarray | None]:
    draw = np.random.default_rng(0)
    x, w, r = (
        draw.standard_normal(s).astype("float32")
        for s in ((STEPS, BATCH, 5), (1, 4 * SIZE, 5), (1, 4 * SIZE, SIZE))
    )
    return [x, w, r, None, None if lengths is None else np.array(lengths, np.int32)]


@pytest.mark.parametrize(("lengths", "word"), [(None, "native"), ([3, 1], "composed")])
def test_lengths_are_not_pytorchs(lengths: list[int] | None, word: str) -> None:
    pytorch, operator = framework("pytorch"), LSTM(hidden_size=SIZE)
    assert pytorch.kernel(operator, inputs=given(lengths))[1] == word
    right = framework("reference").evaluate(operator, given(lengths))
    for got, want in zip(
        pytorch.evaluate(operator, given(lengths)), right, strict=True
    ):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_a_native_run_is_refused_where_it_would_be_the_formula() -> None:
    with pytest.raises(Unsupported, match="ask for composed"):
        forward(framework("pytorch"), LSTM(hidden_size=SIZE), given([3, 1]), "native")


def test_onnxruntime_has_no_kernel_for_every_dtype() -> None:
    runtime = framework("onnxruntime")
    for dtype, word in (
        ("int16", "native"),
        ("float32", "composed"),
        ("int64", "composed"),
    ):
        assert runtime.kernel(Mod(), inputs=[np.ones(3, dtype)] * 2)[1] == word
