"""The same networks written as torch.nn modules, with the same weights, give the same outputs and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

import deep500 as d5


class LeNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2, self.fc3 = (
            nn.Linear(400, 120),
            nn.Linear(120, 84),
            nn.Linear(84, 10),
        )

    def forward(self, x):
        x = functional.avg_pool2d(torch.tanh(self.conv1(x)), 2)
        x = functional.avg_pool2d(torch.tanh(self.conv2(x)), 2).flatten(1)
        return self.fc3(torch.tanh(self.fc2(torch.tanh(self.fc1(x)))))


class Block(nn.Module):
    def __init__(self, inputs: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, channels, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)
        self.stride, self.missing = stride, channels - inputs

    def forward(self, x):
        y = self.bn2(self.conv2(functional.relu(self.bn1(self.conv1(x)))))
        shortcut = x[:, :, :: self.stride, :: self.stride]
        half = self.missing // 2
        return functional.relu(y + functional.pad(shortcut, (0, 0, 0, 0, half, half)))


class ResNet20(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16)
        self.layer1 = nn.Sequential(*(Block(16, 16, 1) for _ in range(3)))
        self.layer2 = nn.Sequential(
            Block(16, 32, 2), Block(32, 32, 1), Block(32, 32, 1)
        )
        self.layer3 = nn.Sequential(
            Block(32, 64, 2), Block(64, 64, 1), Block(64, 64, 1)
        )
        self.fc = nn.Linear(64, 10)

    def forward(self, x):
        x = functional.relu(self.bn1(self.conv1(x)))
        return self.fc(self.layer3(self.layer2(self.layer1(x))).mean((2, 3)))


class Layer(nn.Module):
    """One of GPT's, written out head by head."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(12), nn.LayerNorm(12)
        self.attention = nn.ModuleDict(
            {"qkv": nn.Linear(12, 36), "out": nn.Linear(12, 12)}
        )
        self.mlp = nn.ModuleDict({"fc1": nn.Linear(12, 48), "fc2": nn.Linear(48, 12)})

    def forward(self, x):
        length = x.shape[1]
        future = torch.ones(length, length, dtype=torch.bool).triu(1)
        query, key, value = self.attention["qkv"](self.norm1(x)).split(12, -1)
        heads = []
        for part in (slice(0, 4), slice(4, 8), slice(8, 12)):
            scores = query[..., part] @ key[..., part].transpose(1, 2) / 2
            weights = scores.masked_fill(future, -torch.inf).softmax(-1)
            heads.append(weights @ value[..., part])
        x = x + self.attention["out"](torch.cat(heads, -1))
        hidden = functional.gelu(self.mlp["fc1"](self.norm2(x)), approximate="tanh")
        return x + self.mlp["fc2"](hidden)


class GPT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(11, 12), nn.Embedding(6, 12)
        self.layer0, self.layer1, self.norm = Layer(), Layer(), nn.LayerNorm(12)

    def forward(self, x):
        x = self.tokens(x) + self.positions.weight
        return self.norm(self.layer1(self.layer0(x))) @ self.tokens.weight.T


class Recurrent(nn.Module):
    def __init__(self, kind: Callable) -> None:
        super().__init__()
        self.cells, self.fc = (
            kind(3, 5, num_layers=2, batch_first=True),
            nn.Linear(5, 4),
        )

    def forward(self, x):
        return self.fc(self.cells(x)[0][:, -1])


def rows(array: np.ndarray, order: tuple[int, ...]) -> np.ndarray:
    """The blocks of a gate each, from ONNX's order to PyTorch's."""
    blocks = np.split(array, len(order))
    return np.concatenate([blocks[place] for place in order])


def recurrent_state(
    arrays: dict, name: str, order: tuple[int, ...]
) -> dict[str, np.ndarray]:
    """Arrays named and ordered as PyTorch's recurrent modules have them."""
    state = {key: arrays[key] for key in ("fc.weight", "fc.bias")}
    for layer in range(2):
        place = f"{name}.{layer}"
        of_input, of_state = np.split(arrays[f"{place}.bias"][0], 2)
        state |= {
            f"cells.weight_ih_l{layer}": rows(arrays[f"{place}.weight"][0], order),
            f"cells.weight_hh_l{layer}": rows(arrays[f"{place}.recurrence"][0], order),
            f"cells.bias_ih_l{layer}": rows(of_input, order),
            f"cells.bias_hh_l{layer}": rows(of_state, order),
        }
    return state


def as_they_are(arrays: dict) -> dict[str, np.ndarray]:
    return arrays


LSTM_ORDER, GRU_ORDER = (0, 2, 3, 1), (1, 0, 2)
PAIRS: dict[str, Any] = {
    "LeNet": (LeNet, d5.networks.LeNet(), (1, 28, 28), 10, as_they_are),
    "ResNet20": (ResNet20, d5.networks.ResNet(20), (3, 16, 16), 10, as_they_are),
    "GPT": (GPT, d5.networks.GPT(2, 12, 3, dropout=0), (6,), 11, as_they_are),
    "LSTM": (
        lambda: Recurrent(nn.LSTM),
        d5.networks.LSTM(5, layers=2),
        (4, 3),
        4,
        lambda arrays: recurrent_state(arrays, "lstm", LSTM_ORDER),
    ),
    "GRU": (
        lambda: Recurrent(nn.GRU),
        d5.networks.GRU(5, layers=2),
        (4, 3),
        4,
        lambda arrays: recurrent_state(arrays, "gru", GRU_ORDER),
    ),
}


def differences(name: str, change: Callable[[d5.Network], None]) -> dict[str, float]:
    """The largest difference of the logits, the loss and each gradient, after a change of our network."""
    make_module, definition, shape, outputs, to_torch = PAIRS[name]
    network = definition.build(shape, outputs, seed=1, dtype="float64")
    rng = np.random.default_rng(0)
    for param in network.trainable:
        network.params[param] += 0.1 * rng.standard_normal(network.params[param].shape)
    module = make_module().double()
    state = {
        key: torch.tensor(array)
        for key, array in to_torch(dict(network.params)).items()
    }
    module.load_state_dict(state, strict=False)
    x = (
        rng.standard_normal((3, *shape))
        if len(shape) > 1
        else rng.integers(0, 11, (3, *shape))
    )
    label = rng.integers(0, outputs, (3, *shape) if len(shape) == 1 else 3)
    logits = module(torch.tensor(x))
    targets = torch.tensor(label).flatten()
    loss = functional.cross_entropy(logits.reshape(-1, outputs), targets)
    loss.backward()
    expected = {"logits": logits.detach().numpy(), "loss": loss.detach().numpy()}
    expected |= {key: param.grad.numpy() for key, param in module.named_parameters()}

    change(network)
    executor = d5.framework("reference").executor(network)
    actual = dict(executor.inference_and_backprop({"x": x, "label": label}, "loss"))
    actual |= to_torch(dict(executor.gradients))
    return {
        key: float(np.abs(value - actual[key]).max()) for key, value in expected.items()
    }


@pytest.mark.parametrize("name", PAIRS)
def test_outputs_and_gradients_are_those_of_the_module(name: str) -> None:
    found = differences(name, lambda network: None)
    assert len(found) > 6 and max(found.values()) < 1e-10


@pytest.mark.parametrize("name", PAIRS)
def test_a_planted_error_is_seen(name: str) -> None:
    def change(network: d5.Network) -> None:
        first = network.trainable[0]
        network.params[first] = network.params[first] * (1 + 1e-6)

    assert max(differences(name, change).values()) > 1e-9
