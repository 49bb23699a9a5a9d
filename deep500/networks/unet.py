"""U-Net (Ronneberger et al., 2015): a class for every pixel."""

from ..errors import Deep500Error
from ._architecture import Architecture
from ._builder import Builder


class UNet(Architecture):
    """Convolutions in pairs, on pictures that are halved `levels` times and then doubled again.

    Convolutions pad, so that the result is as large as the picture (the paper's lose a margin). With `batch_norm`
    every convolution is normalised and has no bias, as is usual today; without, it is the paper's network.
    """

    channels: int = 64
    levels: int = 4
    batch_norm: bool = False
    tiny = ({"channels": 2, "levels": 2}, (1, 8, 12), 2)

    def forward(self, builder: Builder, x: str, outputs: int) -> str:
        self._check_picture(builder.shape(x))
        skipped = []
        channels = self.channels
        for level in range(self.levels):
            x = self._pair(builder, f"down{level}", x, channels)
            skipped.append(x)
            x = builder.max_pool(x)
            channels *= 2
        x = self._pair(builder, "bottom", x, channels)
        for level in reversed(range(self.levels)):
            channels //= 2
            wide = builder.up_conv(f"up{level}.up", x, channels)
            both = builder.concat(f"up{level}.both", (skipped[level], wide))
            x = self._pair(builder, f"up{level}", both, channels)
        return builder.conv("head", x, outputs, kernel=1)

    def usual_sizes(self) -> tuple[tuple[int, ...], int]:
        return (1, 512, 512), 2

    def _pair(self, builder: Builder, name: str, x: str, channels: int) -> str:
        for i in (1, 2):
            x = builder.conv(f"{name}.conv{i}", x, channels, bias=not self.batch_norm)
            if self.batch_norm:
                x = builder.batch_norm(f"{name}.bn{i}", x)
            x = builder.relu(x)
        return x

    def _check_picture(self, shape: tuple[int, ...]) -> None:
        factor = 2**self.levels
        size = shape[1:]
        if any(length % factor for length in size):
            raise Deep500Error(
                f"UNet with {self.levels} levels takes heights and widths that are multiples of "
                f"{factor}: not {size}"
            )
