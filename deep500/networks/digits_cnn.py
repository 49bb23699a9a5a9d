"""A small convolutional network in the way of LeNet-5 (LeCun et al., 1998), for pictures as small as 8 x 8."""

from collections.abc import Sequence

from ..errors import Deep500Error
from ._classifier import Builder, Classifier


class DigitsCnn(Classifier):
    """Two convolutions of 3 x 3, each halved by a pool, then two dense layers."""

    channels: tuple[int, int] = (6, 16)
    hidden: tuple[int, int] = (120, 84)

    def layers(self, builder: Builder, x: str, shape: Sequence[int]) -> tuple[str, int]:
        if len(shape) != 3 or min(shape[1:]) < 4:
            raise Deep500Error(
                f"DigitsCnn takes pictures of shape (channels, height, width), 4 x 4 or larger: "
                f"not {tuple(shape)}"
            )
        depth, height, width = shape
        for i, channels in enumerate(self.channels, 1):
            x, depth = (
                builder.pool(builder.relu(builder.conv(f"conv{i}", x, depth, channels))),
                channels,
            )
        x, size = builder.flatten(x), depth * (height // 4) * (width // 4)
        for i, hidden in enumerate(self.hidden, 1):
            x, size = builder.relu(builder.dense(f"fc{i}", x, size, hidden)), hidden
        return x, size
