"""What torch.onnx.export writes for an open batch, not optimised: runs and trains at any size, on every framework."""

import contextlib
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from torch import nn

import deep500 as d5
from deep500.frameworks import available_frameworks, framework

pytestmark = pytest.mark.slow  # exporting takes seconds
Data = Callable[[int], torch.Tensor]  # a batch of so many rows


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(12, 16), nn.Linear(16, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x.reshape(x.shape[0], -1))))


class Cnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 6, 3)
        self.head = nn.Linear(54, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.max_pool2d(torch.relu(self.first(x)), 2)
        return self.head(torch.relu(self.second(x)).flatten(1))


class Attention(nn.Module):
    def __init__(self, width: int, causal: bool):
        super().__init__()
        self.causal = causal
        self.into, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, length, width = x.shape
        parts = self.into(x).split(width, 2)
        q, k, v = (part.view(rows, length, 2, -1).transpose(1, 2) for part in parts)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(rows, length, width))


class Vit(nn.Module):
    def __init__(self, width: int = 16):
        super().__init__()
        self.patches = nn.Conv2d(1, width, 5, 5)
        self.token = nn.Parameter(torch.randn(1, 1, width) / 10)
        self.places = nn.Parameter(torch.randn(1, 5, width) / 10)
        self.norm, self.attention = nn.LayerNorm(width), Attention(width, causal=False)
        self.head = nn.Linear(width, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        patches = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), patches], 1) + self.places
        return self.head((x + self.attention(self.norm(x)))[:, 0])


class Gpt(nn.Module):
    def __init__(self, width: int = 16):
        super().__init__()
        self.words, self.places = nn.Embedding(11, width), nn.Embedding(8, width)
        self.norm, self.attention = nn.LayerNorm(width), Attention(width, causal=True)
        self.mlp = nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.Linear(32, width))
        self.head = nn.Linear(width, 11, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        rows, length = tokens.shape
        x = self.words(tokens) + self.places(torch.arange(length))
        x = x + self.attention(self.norm(x))
        return self.head(x + self.mlp(x)).view(rows * length, -1)


class Recurrent(nn.Module):
    def __init__(self, layer: type[nn.LSTM] | type[nn.GRU]):
        super().__init__()
        self.layer, self.head = layer(4, 6, batch_first=True), nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.layer(x)[0][:, -1])


class WithLoss(nn.Module):
    """A model that also returns a number to differentiate."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = self.model(x)
        return y, (y * y).mean()


def images(rows: int) -> torch.Tensor:
    return torch.randn(rows, 1, 10, 10)


def series(rows: int) -> torch.Tensor:
    return torch.randn(rows, 5, 4)


def tokens(rows: int) -> torch.Tensor:
    return torch.randint(0, 11, (rows, rows + 3))


MODELS: dict[str, tuple[Callable[[], nn.Module], Data, dict[int, str]]] = {
    "mlp": (Mlp, lambda rows: torch.randn(rows, 3, 4), {0: "batch"}),
    "cnn": (Cnn, images, {0: "batch"}),
    "vit": (Vit, images, {0: "batch"}),
    "gpt": (Gpt, tokens, {0: "batch", 1: "time"}),
    "lstm": (lambda: Recurrent(nn.LSTM), series, {0: "batch"}),
    "gru": (lambda: Recurrent(nn.GRU), series, {0: "batch"}),
}


def exported(
    model: nn.Module, x: torch.Tensor, names: dict[int, str]
) -> onnx.ModelProto:
    limits: dict[str, Any] = {"time": {"max": 8}}
    sizes = {
        i: torch.export.Dim(name, **limits.get(name, {})) for i, name in names.items()
    }
    with contextlib.redirect_stdout(io.StringIO()):
        program = torch.onnx.export(
            model, (x,), dynamo=True, optimize=False, dynamic_shapes=(sizes,)
        )
    assert program is not None
    return program.model_proto


def compare(name: str, network: d5.Network, model: nn.Module, data: Data) -> None:
    """Outputs and gradients at two sizes in turn, against PyTorch's."""
    executor = framework(name).executor(network)
    array = executor.framework.array
    [x_name] = network.inputs
    output, loss = network.outputs
    for rows in (2, 4, 2):
        x = data(rows)
        model.zero_grad()
        y, mean = model(x)
        mean.backward()
        found = array(executor.inference({x_name: x.numpy()})[output])
        np.testing.assert_allclose(found, y.detach().numpy(), rtol=1e-3, atol=1e-5)
        executor.inference_and_backprop({x_name: x.numpy()}, loss)
        for param, value in model.named_parameters():
            gradient = value.grad.numpy()
            bound = 1e-4 * np.abs(gradient).max()
            np.testing.assert_allclose(
                array(executor.gradients[param]), gradient, atol=bound, err_msg=param
            )


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore")
def test_an_export_with_an_open_batch_runs_and_trains(name: str) -> None:
    torch.manual_seed(0)
    build, data, names = MODELS[name]
    model = WithLoss(build())
    network = d5.Network.from_onnx(exported(model, data(3), names))
    assert any(node.deciding for node in network.nodes)
    assert {*network.trainable} == {param for param, _ in model.named_parameters()}
    for framework_name in available_frameworks():
        compare(framework_name, network, model, data)
