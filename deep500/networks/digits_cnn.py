"""A small convolutional network in the way of LeNet-5 (LeCun et al., 1998), for pictures as small as 8 x 8."""

from ._architecture import Architecture
from ._builder import Builder


class DigitsCnn(Architecture):
    """Two convolutions of 3 x 3, each halved by a pool, then two dense layers; with `batch_norm` after convolutions."""

    channels: tuple[int, int] = (6, 16)
    hidden: tuple[int, int] = (120, 84)
    batch_norm: bool = False
    tiny = ({"channels": (2, 3), "hidden": (6, 5)}, (1, 8, 8), 3)

    def forward(self, builder: Builder, x: str, outputs: int) -> str:
        for i, channels in enumerate(self.channels, 1):
            x = builder.conv(f"conv{i}", x, channels)
            if self.batch_norm:
                x = builder.batch_norm(f"norm{i}", x)
            x = builder.relu(x)
            x = builder.max_pool(x)
        x = builder.flatten(x)
        for i, width in enumerate(self.hidden, 1):
            x = builder.dense(f"fc{i}", x, width)
            x = builder.relu(x)
        return builder.dense(builder.output_name, x, outputs)

    def usual_sizes(self) -> tuple[tuple[int, ...], int]:
        return (1, 8, 8), 10
