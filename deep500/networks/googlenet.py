"""GoogLeNet, or Inception v1 (Szegedy et al., 2015)."""

from ._architecture import Architecture
from ._builder import Builder

# Channels of each module: 1 x 1; reduced and 3 x 3; reduced and the second 3 x 3; after the pool.
MODULES = {
    "inception3a": (64, 96, 128, 16, 32, 32),
    "inception3b": (128, 128, 192, 32, 96, 64),
    "inception4a": (192, 96, 208, 16, 48, 64),
    "inception4b": (160, 112, 224, 24, 64, 64),
    "inception4c": (128, 128, 256, 24, 64, 64),
    "inception4d": (112, 144, 288, 32, 64, 64),
    "inception4e": (256, 160, 320, 32, 128, 128),
    "inception5a": (256, 160, 320, 32, 128, 128),
    "inception5b": (384, 192, 384, 48, 128, 128),
}


class GoogLeNet(Architecture):
    """Nine modules of four branches each, with batch normalisation and without auxiliary classifiers.

    As in torchvision, whose names parameters have, the paper's 5 x 5 convolutions are 3 x 3. `width` multiplies all
    channels.
    """

    dropout: float = 0.2
    width: float = 1.0
    tiny = ({"width": 1 / 16}, (3, 32, 32), 3)

    def forward(self, builder: Builder, x: str, outputs: int) -> str:
        x = self._conv(builder, "conv1", x, 64, kernel=7, stride=2)
        x = builder.max_pool(x, kernel=3, ceil=True)
        x = self._conv(builder, "conv2", x, 64, kernel=1)
        x = self._conv(builder, "conv3", x, 192)
        x = builder.max_pool(x, kernel=3, ceil=True)
        for name, channels in MODULES.items():
            x = self._inception(builder, name, x, channels)
            if name == "inception3b":
                x = builder.max_pool(x, kernel=3, ceil=True)
            if name == "inception4e":
                x = builder.max_pool(x, kernel=2, ceil=True)
        x = builder.channel_means(x)
        x = builder.dropout(x, self.dropout)
        return builder.dense("fc", x, outputs)

    def usual_sizes(self) -> tuple[tuple[int, ...], int]:
        return (3, 224, 224), 1000

    def _inception(
        self, builder: Builder, name: str, x: str, channels: tuple[int, ...]
    ) -> str:
        plain, reduced, wide, reduced_more, wider, after_pool = channels
        first = self._conv(builder, f"{name}.branch1", x, plain, kernel=1)
        second = self._conv(builder, f"{name}.branch2.0", x, reduced, kernel=1)
        second = self._conv(builder, f"{name}.branch2.1", second, wide)
        third = self._conv(builder, f"{name}.branch3.0", x, reduced_more, kernel=1)
        third = self._conv(builder, f"{name}.branch3.1", third, wider)
        pool = f"{name}.branch4.0"
        pooled = builder.max_pool(x, kernel=3, stride=1, padding=1, name=pool)
        fourth = self._conv(builder, f"{name}.branch4.1", pooled, after_pool, kernel=1)
        return builder.concat(name, (first, second, third, fourth))

    def _conv(
        self,
        builder: Builder,
        name: str,
        x: str,
        channels: int,
        kernel: int = 3,
        stride: int = 1,
    ) -> str:
        scaled = max(1, round(channels * self.width))
        x = builder.conv(f"{name}.conv", x, scaled, kernel, stride, bias=False)
        x = builder.batch_norm(f"{name}.bn", x, epsilon=0.001)
        return builder.relu(x)
