"""Models as PyTorch's users write them, with a batch to run each on."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn


class LeNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2, self.fc3 = (
            nn.Linear(400, 120),
            nn.Linear(120, 84),
            nn.Linear(84, 10),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = nn.functional.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = nn.functional.max_pool2d(torch.relu(self.conv2(x)), 2)
        x = torch.relu(self.fc1(x.flatten(1)))
        return self.fc3(torch.relu(self.fc2(x)))


class Attention(nn.Module):
    """Of several heads, with PyTorch's own kernel."""

    def __init__(self, width: int, heads: int, causal: bool):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.into, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, length, width = x.shape
        parts = self.into(x).split(width, dim=2)
        shape = (rows, length, self.heads, width // self.heads)
        q, k, v = (part.view(shape).transpose(1, 2) for part in parts)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(rows, length, width))


class Layer(nn.Module):
    """One of a transformer, with its normalisations first."""

    def __init__(self, width: int, heads: int, causal: bool):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, causal)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    def __init__(self, width: int = 64, layers: int = 4, heads: int = 4) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, 4)
        self.first = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(torch.randn(1, 65, width) * 0.02)
        self.layers = nn.Sequential(
            *(Layer(width, heads, False) for _ in range(layers))
        )
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        patches = self.patches(x).flatten(2).transpose(1, 2)
        rows = (
            torch.cat([self.first.expand(x.shape[0], -1, -1), patches], 1) + self.places
        )
        return self.head(self.norm(self.layers(rows))[:, 0])


class GPT(nn.Module):
    def __init__(
        self,
        words: int = 512,
        length: int = 64,
        width: int = 128,
        layers: int = 4,
        heads: int = 4,
    ) -> None:
        super().__init__()
        self.words, self.places = (
            nn.Embedding(words, width),
            nn.Embedding(length, width),
        )
        self.layers = nn.Sequential(*(Layer(width, heads, True) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        places = torch.arange(x.shape[1])
        logits = self.head(self.norm(self.layers(self.words(x) + self.places(places))))
        return logits.flatten(0, 1)


class Block(nn.Module):
    """Two convolutions of 3 x 3 with a shortcut around them."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.shortcut: nn.Module = nn.Identity()
        if stride > 1:
            projection = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.shortcut = nn.Sequential(projection, nn.BatchNorm2d(outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm2(self.conv2(torch.relu(self.norm1(self.conv1(x)))))
        return torch.relu(y + self.shortcut(x))


class ResNet18(nn.Module):
    """The form for pictures of 32 x 32."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64)
        blocks, inputs = [], 64
        for width in (64, 128, 256, 512):
            blocks += [
                Block(inputs, width, 1 if width == 64 else 2),
                Block(width, width, 1),
            ]
            inputs = width
        self.blocks, self.fc = nn.Sequential(*blocks), nn.Linear(512, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.blocks(torch.relu(self.norm(self.conv(x))))
        return self.fc(x.mean((2, 3)))


MODELS: dict[str, Callable[[], nn.Module]] = {
    "lenet": LeNet,
    "vit": ViT,
    "gpt": GPT,
    "resnet18": ResNet18,
}


def batch(name: str, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """An input and its labels."""
    if name == "gpt":
        words = torch.randint(0, 512, (8, 64), generator=generator)
        return words, torch.randint(0, 512, (8 * 64,), generator=generator)
    shape = {
        "lenet": (16, 1, 28, 28),
        "vit": (4, 3, 32, 32),
        "resnet18": (8, 3, 32, 32),
    }[name]
    labels = torch.randint(0, 10, (shape[0],), generator=generator)
    return torch.randn(shape, generator=generator), labels


def export(module: nn.Module, x: torch.Tensor, optimize: bool = False) -> Any:
    """The module as an onnx.ModelProto, by PyTorch's exporter."""
    program = torch.onnx.export(
        module.eval(),
        (x,),
        dynamo=True,
        optimize=optimize,
        verbose=False,
        input_names=["x"],
        output_names=["output"],
    )
    return program.model_proto
