"""Residual networks (He et al., 2016), in their forms for ImageNet and for CIFAR."""

from ..errors import Deep500Error
from ._architecture import Architecture
from ._builder import Builder

BLOCKS = {
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
}  # in each of the four stages of ImageNet's forms, by depth
BOTTLENECK = 50  # from this depth on ImageNet's blocks have three convolutions


class ResNet(Architecture):
    """The depth says the form: 18, 34, 50, 101 and 152 are ImageNet's, any other 6n + 2 is CIFAR's.

    Parameters are named as in torchvision. CIFAR's shortcuts have none: they subsample, and pad channels with zeros.
    50 and 152 are 6n + 2 as well: form="cifar" asks for these. `width` multiplies all channels.
    """

    depth: int = 50
    form: str | None = None
    width: float = 1.0
    tiny = ({"depth": 8, "width": 0.25}, (3, 8, 8), 3)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.form not in (None, "cifar", "imagenet"):
            raise Deep500Error(
                f"ResNet has no form {self.form!r}: give 'cifar' or 'imagenet'"
            )
        in_cifar = self.depth >= 8 and self.depth % 6 == 2
        in_imagenet = self.depth in BLOCKS
        asked = {
            "cifar": in_cifar,
            "imagenet": in_imagenet,
            None: in_cifar or in_imagenet,
        }
        if not asked[self.form]:
            of_form = "" if self.form is None else f" in the form {self.form!r}"
            raise Deep500Error(
                f"ResNet has no depth {self.depth}{of_form}: CIFAR's forms have 6n + 2 layers "
                "(8, 14, 20, 32, 44, 56, 110 …), ImageNet's 18, 34, 50, 101 or 152"
            )

    def forward(self, builder: Builder, x: str, outputs: int) -> str:
        x = (
            self._for_cifar(builder, x)
            if self._is_cifar
            else self._for_imagenet(builder, x)
        )
        return builder.dense("fc", builder.channel_means(x), outputs)

    def usual_sizes(self) -> tuple[tuple[int, ...], int]:
        return ((3, 32, 32), 10) if self._is_cifar else ((3, 224, 224), 1000)

    @property
    def _is_cifar(self) -> bool:
        return self.form == "cifar" or self.depth not in BLOCKS

    def _for_cifar(self, builder: Builder, x: str) -> str:
        x = builder.conv("conv1", x, self._scaled(16), bias=False)
        x = builder.relu(builder.batch_norm("bn1", x))
        for stage, channels in enumerate((16, 32, 64), 1):
            for i in range((self.depth - 2) // 6):
                stride = 2 if stage > 1 and i == 0 else 1
                name, scaled = f"layer{stage}.{i}", self._scaled(channels)
                shortcut = _padded(builder, name, x, scaled, stride)
                x = _basic(builder, name, x, shortcut, scaled, stride)
        return x

    def _for_imagenet(self, builder: Builder, x: str) -> str:
        x = builder.conv("conv1", x, self._scaled(64), kernel=7, stride=2, bias=False)
        x = builder.relu(builder.batch_norm("bn1", x))
        x = builder.max_pool(x, kernel=3, stride=2, padding=1)
        deep = self.depth >= BOTTLENECK
        block = _bottleneck if deep else _basic
        for stage, count in enumerate(BLOCKS[self.depth], 1):
            channels = self._scaled(32 * 2**stage)
            wide = 4 * channels if deep else channels
            for i in range(count):
                stride = 2 if stage > 1 and i == 0 else 1
                name = f"layer{stage}.{i}"
                shortcut = _projected(builder, name, x, wide, stride)
                x = block(builder, name, x, shortcut, channels, stride)
        return x

    def _scaled(self, channels: int) -> int:
        return max(1, round(channels * self.width))


def _basic(
    builder: Builder, name: str, x: str, shortcut: str, channels: int, stride: int
) -> str:
    x = builder.conv(f"{name}.conv1", x, channels, stride=stride, bias=False)
    x = builder.relu(builder.batch_norm(f"{name}.bn1", x))
    x = builder.conv(f"{name}.conv2", x, channels, bias=False)
    x = builder.batch_norm(f"{name}.bn2", x)
    return builder.relu(builder.add(x, shortcut))


def _bottleneck(
    builder: Builder, name: str, x: str, shortcut: str, channels: int, stride: int
) -> str:
    """The stride is the second convolution's, as in torchvision (the paper has it at the first one)."""
    x = builder.conv(f"{name}.conv1", x, channels, kernel=1, bias=False)
    x = builder.relu(builder.batch_norm(f"{name}.bn1", x))
    x = builder.conv(f"{name}.conv2", x, channels, stride=stride, bias=False)
    x = builder.relu(builder.batch_norm(f"{name}.bn2", x))
    x = builder.conv(f"{name}.conv3", x, 4 * channels, kernel=1, bias=False)
    x = builder.batch_norm(f"{name}.bn3", x)
    return builder.relu(builder.add(x, shortcut))


def _projected(builder: Builder, name: str, x: str, channels: int, stride: int) -> str:
    """A shortcut with a convolution where the shape changes."""
    if builder.shape(x)[0] == channels and stride == 1:
        return x
    place = f"{name}.downsample"
    x = builder.conv(f"{place}.0", x, channels, kernel=1, stride=stride, bias=False)
    return builder.batch_norm(f"{place}.1", x)


def _padded(builder: Builder, name: str, x: str, channels: int, stride: int) -> str:
    """A shortcut without parameters: every stride-th pixel, and channels of zeros around those there are."""
    if stride > 1:
        height, width = builder.shape(x)[1:]
        window = ((0, 0), (height, width), (2, 3), (stride, stride))
        x = builder.node("Slice", (x, *window), f"{name}.subsampled")
    missing = channels - builder.shape(x)[0]
    if missing:
        before = missing // 2
        x = builder.pad(f"{name}.padded", x, 1, before, missing - before)
    return x
