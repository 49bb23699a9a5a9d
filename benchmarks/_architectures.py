"""Architectures as people write them in PyTorch, small enough to be exported and trained in a second each."""

import math
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

Example = tuple[torch.Tensor, ...]


def mlp() -> tuple[nn.Module, Example]:
    layers = [
        nn.Linear(20, 32),
        nn.ReLU(),
        nn.Linear(32, 16),
        nn.Tanh(),
        nn.Linear(16, 5),
    ]
    return nn.Sequential(*layers), (torch.randn(4, 20),)


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(400, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = torch.flatten(x, 1)
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


def lenet() -> tuple[nn.Module, Example]:
    return LeNet(), (torch.randn(2, 1, 28, 28),)


def vgg() -> tuple[nn.Module, Example]:
    layers: list[nn.Module] = []
    channels = 3
    for width in (8, 16):
        layers += [
            nn.Conv2d(channels, width, 3, padding=1),
            nn.BatchNorm2d(width),
            nn.ReLU(),
        ]
        layers += [nn.MaxPool2d(2)]
        channels = width
    layers += [nn.Flatten(), nn.Dropout(0.5), nn.Linear(16 * 4 * 4, 10)]
    return nn.Sequential(*layers), (torch.randn(2, 3, 16, 16),)


class Residual(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.short = (
            nn.Conv2d(inputs, outputs, 1, stride) if stride > 1 else nn.Identity()
        )

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + self.short(x))


def resnet() -> tuple[nn.Module, Example]:
    blocks = [Residual(8, 8, 1), Residual(8, 16, 2), Residual(16, 16, 1)]
    stem = [nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)]
    return nn.Sequential(*stem, *blocks, *head), (torch.randn(2, 3, 16, 16),)


class Inverted(nn.Module):
    """MobileNetV3's block: expand, depthwise, squeeze and excite, project."""

    def __init__(self, width, wide):
        super().__init__()
        self.expand = nn.Conv2d(width, wide, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(wide)
        self.depth = nn.Conv2d(wide, wide, 3, padding=1, groups=wide, bias=False)
        self.bn2 = nn.BatchNorm2d(wide)
        self.down = nn.Linear(wide, wide // 4)
        self.up = nn.Linear(wide // 4, wide)
        self.project = nn.Conv2d(wide, width, 1, bias=False)

    def forward(self, x):
        y = F.hardswish(self.bn1(self.expand(x)))
        y = F.hardswish(self.bn2(self.depth(y)))
        gate = F.hardsigmoid(self.up(F.relu(self.down(y.mean((2, 3))))))
        return x + self.project(y * gate[:, :, None, None])


def mobilenet() -> tuple[nn.Module, Example]:
    stem = [nn.Conv2d(3, 8, 3, 2, 1), nn.Hardswish(), Inverted(8, 16), Inverted(8, 24)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 6)]
    return nn.Sequential(*stem, *head), (torch.randn(2, 3, 16, 16),)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1 = nn.Conv2d(1, 8, 3, padding=1)
        self.down2 = nn.Conv2d(8, 16, 3, padding=1)
        self.middle = nn.Conv2d(16, 16, 3, padding=1)
        self.up = nn.ConvTranspose2d(16, 8, 2, 2)
        self.merge = nn.Conv2d(16, 8, 3, padding=1)
        self.head = nn.Conv2d(8, 2, 1)

    def forward(self, x):
        a = F.relu(self.down1(x))
        b = F.relu(self.down2(F.max_pool2d(a, 2)))
        c = F.leaky_relu(self.middle(b), 0.1)
        d = torch.cat([self.up(c), a], 1)
        return self.head(F.elu(self.merge(d)))


def unet() -> tuple[nn.Module, Example]:
    return UNet(), (torch.randn(2, 1, 16, 16),)


class Attention(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).split(c, 2)
        q, k, v = (
            z.view(b, t, self.heads, c // self.heads).transpose(1, 2) for z in (q, k, v)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(b, t, c))


class Block(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, causal)
        self.wide, self.narrow = (
            nn.Linear(width, 4 * width),
            nn.Linear(4 * width, width),
        )

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.narrow(F.gelu(self.wide(self.norm2(x))))


class GPT(nn.Module):
    """Token and position embeddings; the head shares the weight of the embedding."""

    def __init__(self, tokens=50, width=32, length=12):
        super().__init__()
        self.tokens = nn.Embedding(tokens, width)
        self.positions = nn.Embedding(length, width)
        self.blocks = nn.ModuleList([Block(width, 4, True) for _ in range(2)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, tokens, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids):
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def gpt() -> tuple[nn.Module, Example]:
    return GPT(), (torch.randint(0, 50, (2, 12)),)


class Llama(nn.Module):
    """RMS norm, rotary positions, grouped queries, SwiGLU."""

    def __init__(self, tokens=40, width=32, heads=4, groups=2):
        super().__init__()
        self.heads, self.groups = heads, groups
        self.tokens = nn.Embedding(tokens, width)
        self.scale1, self.scale2 = (
            nn.Parameter(torch.ones(width)),
            nn.Parameter(torch.ones(width)),
        )
        size = width // heads
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, groups * size, bias=False)
        self.v = nn.Linear(width, groups * size, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, 2 * width, bias=False)
        self.up = nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)
        self.head = nn.Linear(width, tokens, bias=False)
        angles = torch.outer(
            torch.arange(10.0), 10000 ** (-torch.arange(0, size, 2) / size)
        )
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def norm(self, x, scale):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * scale

    def rotate(self, x):
        a, b = x.chunk(2, -1)
        return torch.cat([a * self.cos - b * self.sin, a * self.sin + b * self.cos], -1)

    def forward(self, ids):
        b, t = ids.shape
        x = self.tokens(ids)
        h = self.norm(x, self.scale1)
        q = self.rotate(self.q(h).view(b, t, self.heads, -1).transpose(1, 2))
        k = self.rotate(self.k(h).view(b, t, self.groups, -1).transpose(1, 2))
        v = self.v(h).view(b, t, self.groups, -1).transpose(1, 2)
        k, v = (z.repeat_interleave(self.heads // self.groups, 1) for z in (k, v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        mask = torch.triu(torch.full((t, t), float("-inf")), 1)
        y = torch.softmax(scores + mask, -1) @ v
        x = x + self.o(y.transpose(1, 2).reshape(b, t, -1))
        h = self.norm(x, self.scale2)
        return self.head(x + self.down(F.silu(self.gate(h)) * self.up(h)))


def llama() -> tuple[nn.Module, Example]:
    return Llama(), (torch.randint(0, 40, (2, 10)),)


def bert() -> tuple[nn.Module, Example]:
    layer = nn.TransformerEncoderLayer(
        16, 2, 32, dropout=0.0, activation="gelu", batch_first=True
    )
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), (
        torch.randn(2, 7, 16),
    )


class ViT(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, 4)
        self.first = nn.Parameter(torch.randn(1, 1, width))
        self.positions = nn.Parameter(torch.randn(1, 17, width))
        self.blocks = nn.Sequential(Block(width, 4, False), Block(width, 4, False))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], 1) + self.positions
        return self.head(self.norm(self.blocks(x))[:, 0])


def vit() -> tuple[nn.Module, Example]:
    return ViT(), (torch.randn(2, 3, 16, 16),)


class Recurrent(nn.Module):
    def __init__(self, kind, layers=1, both=False):
        super().__init__()
        self.embed = nn.Embedding(30, 12)
        self.cells = kind(12, 16, layers, batch_first=True, bidirectional=both)
        self.head = nn.Linear(16 * (1 + both), 4)

    def forward(self, ids):
        return self.head(self.cells(self.embed(ids))[0][:, -1])


def lstm() -> tuple[nn.Module, Example]:
    return Recurrent(nn.LSTM), (torch.randint(0, 30, (3, 6)),)


def lstm_both_ways() -> tuple[nn.Module, Example]:
    return Recurrent(nn.LSTM, layers=2, both=True), (torch.randint(0, 30, (3, 6)),)


def gru() -> tuple[nn.Module, Example]:
    return Recurrent(nn.GRU), (torch.randint(0, 30, (3, 6)),)


class DLRM(nn.Module):
    """Dense features and categories, their pairwise products, and a layer over both."""

    def __init__(self):
        super().__init__()
        self.bottom = nn.Sequential(
            nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU()
        )
        self.tables = nn.ModuleList([nn.Embedding(n, 8) for n in (10, 20, 7)])
        self.top = nn.Sequential(nn.Linear(8 + 6, 16), nn.ReLU(), nn.Linear(16, 1))
        row, column = torch.tril_indices(4, 4, -1)
        self.register_buffer("pairs", row * 4 + column)

    def forward(self, dense, categories):
        x = self.bottom(dense)
        rows = [x, *(table(categories[:, i]) for i, table in enumerate(self.tables))]
        stacked = torch.stack(rows, 1)
        products = torch.bmm(stacked, stacked.transpose(1, 2)).flatten(1)
        return torch.sigmoid(self.top(torch.cat([x, products[:, self.pairs]], 1)))


def dlrm() -> tuple[nn.Module, Example]:
    return DLRM(), (torch.randn(4, 5), torch.randint(0, 7, (4, 3)))


class DiffusionBlock(nn.Module):
    """A block of a diffusion model's U-Net: group norms, a time embedding, attention over pixels."""

    def __init__(self, width=16):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(4, width), nn.GroupNorm(4, width)
        self.conv1 = nn.Conv2d(width, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.time = nn.Linear(32, width)
        self.attention = Attention(width, 2, False)

    def forward(self, x, t):
        rates = torch.exp(-math.log(10000.0) * torch.arange(16) / 16)
        angles = t[:, None] * rates
        h = self.conv1(F.silu(self.norm1(x)))
        h = h + self.time(torch.cat([angles.sin(), angles.cos()], 1))[:, :, None, None]
        h = x + self.conv2(F.silu(self.norm2(h)))
        b, c, height, width = h.shape
        y = self.attention(h.flatten(2).transpose(1, 2))
        return h + y.transpose(1, 2).reshape(b, c, height, width)


def diffusion() -> tuple[nn.Module, Example]:
    return DiffusionBlock(), (torch.randn(2, 16, 6, 6), torch.rand(2))


class MixtureOfExperts(nn.Module):
    """The two best of four experts, weighted; all are computed and masked."""

    def __init__(self, width=12):
        super().__init__()
        self.gate = nn.Linear(width, 4)
        self.up = nn.Parameter(torch.randn(4, width, 24) / 4)
        self.down = nn.Parameter(torch.randn(4, 24, width) / 4)

    def forward(self, x):
        best, where = torch.topk(self.gate(x), 2, -1)
        weights = torch.zeros_like(self.gate(x)).scatter(
            1, where, torch.softmax(best, -1)
        )
        h = F.gelu(torch.einsum("bi,eij->bej", x, self.up), approximate="tanh")
        y = torch.einsum("bej,eji->bei", h, self.down)
        return (weights[:, :, None] * y).sum(1)


def moe() -> tuple[nn.Module, Example]:
    return MixtureOfExperts(), (torch.randn(5, 12),)


def autoencoder() -> tuple[nn.Module, Example]:
    encoder = [nn.Linear(20, 12), nn.SELU(), nn.Linear(12, 4)]
    decoder = [nn.Linear(4, 12), nn.Softplus(), nn.Linear(12, 20), nn.Sigmoid()]
    return nn.Sequential(*encoder, *decoder), (torch.randn(4, 20),)


class ConvNeXt(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 4, 4)
        self.depth = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width)
        self.wide, self.narrow = (
            nn.Linear(width, 4 * width),
            nn.Linear(4 * width, width),
        )
        self.scale = nn.Parameter(torch.full((width,), 0.1))

    def forward(self, x):
        x = self.stem(x)
        h = self.norm(self.depth(x).permute(0, 2, 3, 1))
        h = self.scale * self.narrow(F.gelu(self.wide(h)))
        return (x + h.permute(0, 3, 1, 2)).mean((2, 3))


def convnext() -> tuple[nn.Module, Example]:
    return ConvNeXt(), (torch.randn(2, 3, 16, 16),)


class Inception(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(3, 4, 1)
        self.b = nn.Conv2d(3, 4, 3, padding=1)
        self.c = nn.Conv2d(3, 4, 5, padding=2)
        self.norm = nn.InstanceNorm2d(15, affine=True)
        self.head = nn.Linear(15, 5)

    def forward(self, x):
        pooled = F.avg_pool2d(x, 3, 1, 1)
        parts = [self.a(x), self.b(x), self.c(x), pooled]
        x = self.norm(torch.cat(parts, 1)).clamp(0, 6)
        return F.log_softmax(self.head(F.adaptive_max_pool2d(x, 1).flatten(1)), 1)


def inception() -> tuple[nn.Module, Example]:
    return Inception(), (torch.randn(2, 3, 8, 8),)


class Physics(nn.Module):
    """A surrogate of a differential equation: sines of the inputs, a residual stream, no biases at the end."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 24), nn.Linear(24, 24)
        self.last = nn.Linear(24, 1, bias=False)

    def forward(self, points):
        h = torch.sin(self.first(points))
        h = h + F.mish(self.second(h))
        return self.last(h) * (1 - points[:, :1] ** 2)


def physics() -> tuple[nn.Module, Example]:
    return Physics(), (torch.rand(6, 3),)


def speech() -> tuple[nn.Module, Example]:
    layers = [
        nn.Conv1d(4, 8, 5, 2, 2),
        nn.PReLU(8),
        nn.Conv1d(8, 8, 3, padding=2, dilation=2),
    ]
    layers += [
        nn.GroupNorm(2, 8),
        nn.GLU(1),
        nn.AvgPool1d(2),
        nn.Flatten(),
        nn.Linear(32, 6),
    ]
    return nn.Sequential(*layers), (torch.randn(2, 4, 32),)


class Translator(nn.Module):
    """An encoder and a decoder with cross-attention, as PyTorch's own layers have it."""

    def __init__(self, width=16):
        super().__init__()
        self.source, self.target = nn.Embedding(20, width), nn.Embedding(25, width)
        options = {"dropout": 0.0, "batch_first": True}
        self.encoder = nn.TransformerEncoderLayer(width, 2, 32, **options)
        self.decoder = nn.TransformerDecoderLayer(width, 2, 32, **options)
        self.head = nn.Linear(width, 25)

    def forward(self, source, target):
        memory = self.encoder(self.source(source))
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        return self.head(self.decoder(self.target(target), memory, tgt_mask=mask))


def translator() -> tuple[nn.Module, Example]:
    return Translator(), (torch.randint(0, 20, (2, 6)), torch.randint(0, 25, (2, 5)))


ARCHITECTURES: dict[str, Callable[[], tuple[nn.Module, Example]]] = {
    make.__name__: make
    for make in (
        mlp,
        lenet,
        vgg,
        resnet,
        mobilenet,
        unet,
        gpt,
        llama,
        bert,
        vit,
        lstm,
        lstm_both_ways,
        gru,
        dlrm,
        diffusion,
        moe,
        autoencoder,
        convnext,
        inception,
        physics,
        speech,
        translator,
    )
}
