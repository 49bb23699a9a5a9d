"""Wide residual networks (Zagoruyko and Komodakis, 2016)."""

from ..errors import Deep500Error
from ._architecture import Architecture
from ._builder import Builder


class WideResNet(Architecture):
    """Three stages of (depth - 4) / 6 blocks, `widen` times wider than a ResNet's; WRN-28-10 by default.

    Normalisation and Relu come before each convolution; `dropout` is between the two of a block.
    """

    depth: int = 28
    widen: int = 10
    dropout: float = 0.0
    tiny = ({"depth": 10, "widen": 1, "dropout": 0.3}, (3, 8, 8), 3)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.depth < 10 or self.depth % 6 != 4:
            raise Deep500Error(
                f"WideResNet has no depth {self.depth}: give 6n + 4 (10, 16, 22, 28, 40 …)"
            )

    def forward(self, builder: Builder, x: str, outputs: int) -> str:
        x = builder.conv("conv1", x, 16, bias=False)
        count = (self.depth - 4) // 6
        for stage, narrow in enumerate((16, 32, 64), 1):
            channels = narrow * self.widen
            for i in range(count):
                stride = 2 if stage > 1 and i == 0 else 1
                x = self._block(builder, f"block{stage}.{i}", x, channels, stride)
        x = builder.batch_norm("bn", x)
        x = builder.relu(x)
        x = builder.channel_means(x)
        return builder.dense("fc", x, outputs)

    def usual_sizes(self) -> tuple[tuple[int, ...], int]:
        return (3, 32, 32), 10

    def _block(
        self, builder: Builder, name: str, x: str, channels: int, stride: int
    ) -> str:
        active = builder.batch_norm(f"{name}.bn1", x)
        active = builder.relu(active)
        shortcut = x
        if builder.shape(x)[0] != channels or stride > 1:
            shortcut_name = f"{name}.shortcut"
            shortcut = builder.conv(
                shortcut_name,
                active,
                channels,
                kernel=1,
                stride=stride,
                bias=False,
            )
        x = builder.conv(f"{name}.conv1", active, channels, stride=stride, bias=False)
        x = builder.batch_norm(f"{name}.bn2", x)
        x = builder.relu(x)
        x = builder.dropout(x, self.dropout)
        x = builder.conv(f"{name}.conv2", x, channels, bias=False)
        return builder.add(x, shortcut)
