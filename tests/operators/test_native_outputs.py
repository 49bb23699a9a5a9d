"""A native kernel that makes fewer results than a node asks for leaves it to the formula, and the word says so."""

import numpy as np
import pytest

from deep500.contracts.network import Network
from deep500.frameworks import framework
from deep500.operators import Attention

SHAPE = (1, 2, 3, 4)
OUTPUTS = ["y", "present_key", "present_value", "qk"]


def network(count: int, operator: Attention) -> Network:
    net = Network("attention")
    for name in "qkv":
        net.add_input(name, SHAPE)
    net.add_node(operator, list("qkv"), OUTPUTS[:count], name="attention")
    for name in OUTPUTS[:count]:
        net.add_output(name)
    return net


@pytest.mark.parametrize(
    ("count", "operator", "word"),
    [
        (1, Attention(), "native"),
        (3, Attention(is_causal=1), "native"),
        (4, Attention(), "composed"),
        (1, Attention(softcap=2.0), "composed"),
        (1, Attention(left_window_size=1), "composed"),
    ],
    ids=["y", "causal", "qk", "capped", "window"],
)
def test_the_word_is_true(count: int, operator: Attention, word: str) -> None:
    draw = np.random.default_rng(0)
    feed = {name: draw.standard_normal(SHAPE).astype("float32") for name in "qkv"}
    pytorch = framework("pytorch")
    executor = pytorch.executor(network(count, operator))
    called = []
    function = pytorch.module.nn.functional
    with pytest.MonkeyPatch.context() as patch:
        original = function.scaled_dot_product_attention
        patch.setattr(
            function,
            "scaled_dot_product_attention",
            lambda *a, **k: called.append(1) or original(*a, **k),
        )
        found = executor.inference(feed)
    assert executor.kernels() == {"attention": word} and bool(called) == (
        word == "native"
    )
    for name, right in zip(
        OUTPUTS[:count],
        framework("reference").evaluate(operator, [*feed.values()]),
        strict=False,
    ):
        np.testing.assert_allclose(
            pytorch.array(found[name]), right, rtol=1e-5, atol=1e-6
        )
