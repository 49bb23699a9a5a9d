"""MobileNetV2 (Sandler et al., 2018)."""

from ._architecture import Architecture
from ._builder import Builder

# Expansion, channels, blocks and first stride of each stage.
STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


class MobileNetV2(Architecture):
    """Inverted residual blocks: wide inside, with one filter per channel there; named as in torchvision.

    `width` multiplies all channels, which are then rounded to multiples of 8.
    """

    dropout: float = 0.2
    width: float = 1.0
    tiny = ({"width": 0.1}, (3, 32, 32), 3)

    def forward(self, builder: Builder, x: str, outputs: int) -> str:
        builder.constant("zero", 0.0)
        builder.constant("six", 6.0)
        x = _conv(builder, "features.0", x, self._scaled(32), stride=2)
        index = 1
        for expansion, channels, count, stride in STAGES:
            for _ in range(count):
                name = f"features.{index}.conv"
                x = self._block(builder, name, x, expansion, channels, stride)
                stride = 1
                index += 1
        last = max(1280, self._scaled(1280))
        x = _conv(builder, f"features.{index}", x, last, kernel=1)
        x = builder.channel_means(x)
        x = builder.dropout(x, self.dropout)
        return builder.dense("classifier.1", x, outputs)

    def usual_sizes(self) -> tuple[tuple[int, ...], int]:
        return (3, 224, 224), 1000

    def _block(
        self,
        builder: Builder,
        name: str,
        x: str,
        expansion: int,
        channels: int,
        stride: int,
    ) -> str:
        inputs = builder.shape(x)[0]
        results = self._scaled(channels)
        inside = expansion * inputs
        shortcut = x
        index = 0
        if expansion > 1:
            x = _conv(builder, f"{name}.0", x, inside, kernel=1)
            index = 1
        x = _conv(builder, f"{name}.{index}", x, inside, stride=stride, groups=inside)
        x = builder.conv(f"{name}.{index + 1}", x, results, kernel=1, bias=False)
        x = builder.batch_norm(f"{name}.{index + 2}", x)
        if stride == 1 and inputs == results:
            x = builder.add(x, shortcut)
        return x

    def _scaled(self, channels: int) -> int:
        """Channels times the width, as a multiple of 8 that is not more than a tenth below."""
        exact = channels * self.width
        rounded = max(8, int(exact + 4) // 8 * 8)
        if rounded < 0.9 * exact:
            rounded += 8
        return rounded


def _conv(
    builder: Builder,
    name: str,
    x: str,
    channels: int,
    kernel: int = 3,
    stride: int = 1,
    groups: int = 1,
) -> str:
    """A convolution, normalised, and kept between 0 and 6."""
    x = builder.conv(
        f"{name}.0", x, channels, kernel, stride, groups=groups, bias=False
    )
    x = builder.batch_norm(f"{name}.1", x)
    return builder.node("Clip", (x, "zero", "six"), f"{name}.2")
