"""ONNX Runtime by provider: none is replaced without a word, and values stay where a provider keeps them.

No other provider than the CPU's is here. Two stand in: Azure's, which has no kernel for anything, and the CPU's own
with memory that counts as a device's.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

import deep500 as d5
from deep500.contracts.framework import Framework
from deep500.errors import Unsupported
from deep500.frameworks import framework
from deep500.operators import Relu, Softmax

from .subjects import Twice, batch, losses, network, with_custom_operator

ORT = framework("onnxruntime")
pytestmark = pytest.mark.skipif(not ORT.available(), reason="not installed")
from deep500.frameworks.onnxruntime import providers  # noqa: E402

X = np.asarray([[1, -2, 3]], np.float32)


@dataclass(frozen=True)
class Apart(providers.Provider):
    """The CPU's provider, with values that NumPy arrays cannot be."""

    in_host_memory = False
    options = {}  # noqa: RUF012


@pytest.fixture
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    apart = Apart(providers.CPU.name)
    azure = providers.Provider("AzureExecutionProvider")
    monkeypatch.setitem(providers.PROVIDERS, "apart", apart)
    monkeypatch.setitem(providers.PROVIDERS, "azure", azure)
    yield
    providers.provider_of.cache_clear()


@pytest.fixture
def apart(stand_ins: None) -> Framework:
    return ORT.on("apart")


@pytest.mark.parametrize("word", ["cuda", "gpu", "rocm", "dml", "tensorrt", "nosuch"])
def test_a_device_of_no_provider_is_refused(word: str) -> None:
    with pytest.raises(Unsupported, match=f"no device '{word}' on this machine"):
        ORT.on(word)


def test_a_missing_provider_is_refused() -> None:
    from deep500.frameworks.onnxruntime.sessions import open_session

    cuda = providers.provider_of("cuda:1")
    assert (cuda.place, cuda.options) == (("cuda", 1), {"device_id": "1"})
    with pytest.raises(Unsupported, match="has no CUDAExecutionProvider, only"):
        open_session(b"", 1, cuda)


def test_a_provider_that_did_not_start_is_refused() -> None:
    from deep500.frameworks.onnxruntime.sessions import _check_provider

    cuda = providers.provider_of("cuda")
    _check_provider([cuda.name, providers.CPU.name], cuda, "")
    with pytest.raises(Unsupported, match="took CPUExecution.* EP Error: no driver"):
        _check_provider([providers.CPU.name], cuda, "EP Error:\n no driver")


def test_a_graph_without_kernels_does_not_fall_back(stand_ins: None) -> None:
    azure = ORT.on("azure")
    with pytest.raises(Unsupported, match="no kernel on AzureExecutionProvider"):
        azure.evaluate(Relu(), [X])
    with pytest.raises(Unsupported, match="no kernel on AzureExecutionProvider"):
        azure.executor(network()).inference(batch(network()))


def test_every_gpu_of_nvidia_is_a_device() -> None:
    available = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    found = providers.provided_devices(available, ["A100", "H100"])
    named = [(info.word, info.name) for info in found]
    assert named == [("cpu", ""), ("cuda:0", "A100"), ("cuda:1", "H100")]


def test_the_profile_tells_the_provider_of_every_node() -> None:
    executor = ORT.executor(network())
    nodes = executor.placement(batch(network()))  # type: ignore[attr-defined]
    assert {"FusedGemm", "Gemm"} <= {node.operator for node in nodes}
    assert {node.provider for node in nodes} == {providers.CPU.name}


def test_training_in_memory_of_a_device_is_the_same_run(apart: Framework) -> None:
    ours, theirs = apart.executor(network()), ORT.executor(network())
    assert losses(ours) == losses(theirs)
    for name, value in theirs.arrays().items():
        assert np.array_equal(ours.arrays()[name], value)


def test_flat_buffers_of_a_device_are_counted_copies(apart: Framework) -> None:
    executor = apart.executor(network())
    step = executor.training_step(d5.optimizers.SGD(0.1))
    step.backprop(batch(network()))
    gradients = executor.flat_gradients()
    before = executor.arrays()
    step.apply({name: 0 * buffer for name, buffer in gradients.items()})
    executor.load_flat_params(executor.flat_params())
    assert executor.copies == {"to host": 2, "to device": 2}
    after = executor.arrays()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_operators_run_in_memory_of_a_device(apart: Framework) -> None:
    assert np.array_equal(apart.evaluate(Relu(), [X])[0], [[1, 0, 3]])
    call = apart.forward_call(Softmax(), [X], "composed")
    expected = ORT.evaluate(Softmax(), [X])[0]
    np.testing.assert_allclose(call.run()[0], expected, rtol=1e-6)


def test_an_operator_of_the_host_is_refused_by_name(apart: Framework) -> None:
    with pytest.raises(Unsupported, match="Twice runs in the host's memory"):
        apart.custom_op(Twice().operator.adapted)
    with pytest.raises(Unsupported, match="Twice runs in the host's memory"):
        apart.executor(with_custom_operator())
