"""VGG (Simonyan and Zisserman, 2015)."""

from ..errors import Deep500Error
from ._architecture import Architecture
from ._builder import Builder

# Convolutions in each of the five stages, by depth.
CONVOLUTIONS = {
    11: (1, 1, 2, 2, 2),
    13: (2, 2, 2, 2, 2),
    16: (2, 2, 3, 3, 3),
    19: (2, 2, 4, 4, 4),
}
CHANNELS = (64, 128, 256, 512, 512)


class VGG(Architecture):
    """Five stages of 3 x 3 convolutions, each halved by a pool, and three dense layers; named as in torchvision.

    `width` multiplies all channels and hidden units.
    """

    depth: int = 16
    batch_norm: bool = False
    dropout: float = 0.5
    width: float = 1.0
    tiny = ({"depth": 11, "batch_norm": True, "width": 1 / 32}, (3, 32, 32), 3)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.depth not in CONVOLUTIONS:
            depths = ", ".join(map(str, CONVOLUTIONS))
            raise Deep500Error(f"VGG has no depth {self.depth}: give one of {depths}")

    def forward(self, builder: Builder, x: str, outputs: int) -> str:
        index = 0
        for count, channels in zip(CONVOLUTIONS[self.depth], CHANNELS, strict=True):
            scaled = self._scaled(channels)
            for _ in range(count):
                x = builder.conv(f"features.{index}", x, scaled)
                index += 1
                if self.batch_norm:
                    x = builder.batch_norm(f"features.{index}", x)
                    index += 1
                x = builder.relu(x)
                index += 1
            x = builder.max_pool(x)
            index += 1
        x = builder.flatten(x)
        hidden = self._scaled(4096)
        for name in ("classifier.0", "classifier.3"):
            x = builder.dense(name, x, hidden)
            x = builder.relu(x)
            x = builder.dropout(x, self.dropout)
        return builder.dense("classifier.6", x, outputs)

    def usual_sizes(self) -> tuple[tuple[int, ...], int]:
        return (3, 224, 224), 1000

    def _scaled(self, units: int) -> int:
        return max(1, round(units * self.width))
