"""AlexNet in the form that runs on one device (Krizhevsky, 2014)."""

from ._architecture import Architecture
from ._builder import Builder


class AlexNet(Architecture):
    """Five convolutions and three dense layers; parameters are named as in torchvision.

    `width` multiplies all channels and hidden units.
    """

    dropout: float = 0.5
    width: float = 1.0
    tiny = ({"width": 1 / 32}, (3, 64, 64), 3)

    def forward(self, builder: Builder, x: str, outputs: int) -> str:
        def conv(
            index: int, x: str, channels: int, kernel: int, stride: int = 1
        ) -> str:
            name = f"features.{index}"
            scaled = self._scaled(channels)
            padding = 2 if kernel > 3 else 1
            x = builder.conv(name, x, scaled, kernel, stride, padding)
            return builder.relu(x)

        x = conv(0, x, 64, kernel=11, stride=4)
        x = builder.max_pool(x, kernel=3)
        x = conv(3, x, 192, kernel=5)
        x = builder.max_pool(x, kernel=3)
        x = conv(6, x, 384, kernel=3)
        x = conv(8, x, 256, kernel=3)
        x = conv(10, x, 256, kernel=3)
        x = builder.max_pool(x, kernel=3)
        x = builder.flatten(x)
        hidden = self._scaled(4096)
        for name in ("classifier.1", "classifier.4"):
            x = builder.dropout(x, self.dropout)
            x = builder.dense(name, x, hidden)
            x = builder.relu(x)
        return builder.dense("classifier.6", x, outputs)

    def usual_sizes(self) -> tuple[tuple[int, ...], int]:
        return (3, 224, 224), 1000

    def _scaled(self, units: int) -> int:
        return max(1, round(units * self.width))
