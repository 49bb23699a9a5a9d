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
            place: int, x: str, channels: int, kernel: int, stride: int = 1
        ) -> str:
            padding = 2 if kernel > 3 else 1
            name, scaled = f"features.{place}", self._scaled(channels)
            return builder.relu(builder.conv(name, x, scaled, kernel, stride, padding))

        x = builder.max_pool(conv(0, x, 64, kernel=11, stride=4), kernel=3)
        x = builder.max_pool(conv(3, x, 192, kernel=5), kernel=3)
        x = conv(6, x, 384, kernel=3)
        x = conv(8, x, 256, kernel=3)
        x = builder.max_pool(conv(10, x, 256, kernel=3), kernel=3)
        x = builder.dropout(builder.flatten(x), self.dropout)
        x = builder.relu(builder.dense("classifier.1", x, self._scaled(4096)))
        x = builder.dropout(x, self.dropout)
        x = builder.relu(builder.dense("classifier.4", x, self._scaled(4096)))
        return builder.dense("classifier.6", x, outputs)

    def usual_sizes(self) -> tuple[tuple[int, ...], int]:
        return (3, 224, 224), 1000

    def _scaled(self, units: int) -> int:
        return max(1, round(units * self.width))
