"""Weights that were written as one because they were equal are weights of their own; tied ones stay one."""

import io
import warnings
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import onnx
import pytest

import deep500 as d5
from deep500.contracts.network import Network

torch = pytest.importorskip("torch")
nn = torch.nn


class Fresh(nn.Module):  # type: ignore[name-defined]
    """Layers whose weights are all ones and zeros, also those that are statistics."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(6), nn.LayerNorm(6)
        self.dense = nn.Linear(6, 6)
        self.batch = nn.BatchNorm1d(6)

    def forward(self, x):
        return self.batch(torch.relu(self.second(self.dense(self.first(x)))))


class Tied(Fresh):
    """The same with one weight in two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.second.weight = self.first.weight


def exported(module, x) -> onnx.ModelProto:
    silent = io.StringIO()
    with warnings.catch_warnings(), redirect_stdout(silent), redirect_stderr(silent):
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            module, (x,), dynamo=True, optimize=True, verbose=False
        )
    return program.model_proto


@pytest.fixture(scope="module")
def fresh():
    torch.manual_seed(0)
    module, x = Fresh().eval(), torch.randn(4, 6)
    return module, x, exported(module, x)


def gradients(
    network: Network, x: np.ndarray, labels: np.ndarray
) -> dict[str, np.ndarray]:
    executor = d5.framework("pytorch").executor(
        d5.losses.CrossEntropy().attach(network)
    )
    executor.inference_and_backprop({next(iter(network.inputs)): x, "label": labels})
    array = executor.framework.array
    return {name: array(value) for name, value in executor.gradients.items()}


def test_the_exporter_makes_equal_weights_one(fresh) -> None:
    """What this is about; should it end, so may deep500/onnx/equal_weights.py."""
    norms = [
        node for node in fresh[2].graph.node if node.op_type == "LayerNormalization"
    ]
    assert norms[0].input[1:] == norms[1].input[1:]


def test_every_weight_of_a_fresh_module_has_its_own_gradient(fresh) -> None:
    module, x, model = fresh
    before = model.SerializeToString()
    network = Network.from_onnx(model)
    assert model.SerializeToString() == before
    assert any(
        "written as one with weights that were equal" in said
        for said in network.remarks
    )
    labels = torch.tensor([0, 1, 2, 3])
    module.zero_grad()
    nn.functional.cross_entropy(module(x), labels).backward()
    wanted = {name: p.grad.numpy() for name, p in module.named_parameters()}
    values = gradients(network, x.numpy(), labels.numpy())
    for name in ("first.weight", "first.bias", "second.weight", "second.bias"):
        np.testing.assert_allclose(values[name], wanted[name], rtol=1e-4, atol=1e-6)
    assert sum(g.size for g in values.values()) == sum(g.size for g in wanted.values())


def test_tied_weights_stay_one() -> None:
    torch.manual_seed(0)
    network = Network.from_onnx(exported(Tied().eval(), torch.randn(4, 6)))
    scales = {
        node.inputs[1]
        for node in network.nodes
        if type(node.operator).__name__ == "LayerNormalization"
    }
    assert len(scales) == 1
    assert len({"first.bias", "second.bias"} & {*network.trainable}) == 2


def test_statistics_are_never_weights_even_without_a_word(fresh) -> None:
    model = onnx.ModelProto()
    model.CopyFrom(fresh[2])
    del model.graph.metadata_props[:]
    network = Network.from_onnx(model)
    [node] = [
        n for n in network.nodes if type(n.operator).__name__ == "BatchNormalization"
    ]
    assert not {*node.inputs[3:5]} & {*network.trainable}
    assert {*node.inputs[1:3]} <= {*network.trainable}


def test_a_name_that_is_taken_is_left_alone(fresh) -> None:
    """Metadata come from anyone: they never replace what is there."""
    model = onnx.ModelProto()
    model.CopyFrom(fresh[2])
    [signature] = [
        e for e in model.graph.metadata_props if e.key.endswith("graph_signature")
    ]
    for name in ("second.weight", "second.bias"):
        signature.value = signature.value.replace(
            f"target='{name}'", "target='dense.weight'"
        )
    network = Network.from_onnx(model)
    assert network.params["dense.weight"].shape == (6, 6)
    executor = d5.framework("reference").executor(network)
    [y] = executor.inference({next(iter(network.inputs)): fresh[1].numpy()}).values()
    np.testing.assert_allclose(
        y, fresh[0](fresh[1]).detach().numpy(), rtol=1e-4, atol=1e-5
    )
