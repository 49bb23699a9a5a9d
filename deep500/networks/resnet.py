"""Residual networks (He et al., 2016), in their forms for ImageNet and for CIFAR."""

from ..errors import Deep500Error
from ._architecture import Architecture
from ._builder import Builder

# Blocks in each of the four stages of ImageNet's forms, by depth.
BLOCKS = {
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
}
BOTTLENECK = 50  # from this depth on ImageNet's blocks have three convolutions


class ResNet(Architecture):
    """The depth determines the form: 18, 34, 50, 101 and 152 are ImageNet's, any other 6n + 2 is CIFAR's.

    Parameters are named as in torchvision. CIFAR's shortcuts have none: they subsample, and pad channels with zeros.
    50 and 152 are 6n + 2 as well: form="cifar" selects CIFAR's form. `width` multiplies all channels.
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
        exists = {
            "cifar": in_cifar,
            "imagenet": in_imagenet,
            None: in_cifar or in_imagenet,
        }
        if not exists[self.form]:
            of_form = ""
            if self.form is not None:
                of_form = f" in the form {self.form!r}"
            raise Deep500Error(
                f"ResNet has no depth {self.depth}{of_form}: CIFAR's forms have 6n + 2 layers "
                "(8, 14, 20, 32, 44, 56, 110 …), ImageNet's 18, 34, 50, 101 or 152"
            )

    def forward(self, builder: Builder, x: str, outputs: int) -> str:
        if self._is_cifar:
            x = self._for_cifar(builder, x)
        else:
            x = self._for_imagenet(builder, x)
        x = builder.channel_means(x)
        return builder.dense("fc", x, outputs)

    def usual_sizes(self) -> tuple[tuple[int, ...], int]:
        if self._is_cifar:
            return (3, 32, 32), 10
        return (3, 224, 224), 1000

    @property
    def _is_cifar(self) -> bool:
        return self.form == "cifar" or self.depth not in BLOCKS

    def _for_cifar(self, builder: Builder, x: str) -> str:
        x = builder.conv("conv1", x, self._scaled(16), bias=False)
        x = builder.batch_norm("bn1", x)
        x = builder.relu(x)
        count = (self.depth - 2) // 6
        for stage, unscaled in enumerate((16, 32, 64), 1):
            channels = self._scaled(unscaled)
            for i in range(count):
                name = f"layer{stage}.{i}"
                stride = _stride(stage, i)
                shortcut = _padded(builder, name, x, channels, stride)
                x = _basic(builder, name, x, shortcut, channels, stride)
        return x

    def _for_imagenet(self, builder: Builder, x: str) -> str:
        x = builder.conv("conv1", x, self._scaled(64), kernel=7, stride=2, bias=False)
        x = builder.batch_norm("bn1", x)
        x = builder.relu(x)
        x = builder.max_pool(x, kernel=3, stride=2, padding=1)
        block, expansion = _basic, 1
        if self.depth >= BOTTLENECK:
            block, expansion = _bottleneck, 4
        for stage, count in enumerate(BLOCKS[self.depth], 1):
            channels = self._scaled(32 * 2**stage)
            results = expansion * channels
            for i in range(count):
                name = f"layer{stage}.{i}"
                stride = _stride(stage, i)
                shortcut = _projected(builder, name, x, results, stride)
                x = block(builder, name, x, shortcut, channels, stride)
        return x

    def _scaled(self, channels: int) -> int:
        return max(1, round(channels * self.width))


def _stride(stage: int, block: int) -> int:
    """Every stage but the first one halves height and width in its first block."""
    if stage > 1 and block == 0:
        return 2
    return 1


def _basic(
    builder: Builder,
    name: str,
    x: str,
    shortcut: str,
    channels: int,
    stride: int,
) -> str:
    x = builder.conv(f"{name}.conv1", x, channels, stride=stride, bias=False)
    x = builder.batch_norm(f"{name}.bn1", x)
    x = builder.relu(x)
    x = builder.conv(f"{name}.conv2", x, channels, bias=False)
    x = builder.batch_norm(f"{name}.bn2", x)
    x = builder.add(x, shortcut)
    return builder.relu(x)


def _bottleneck(
    builder: Builder,
    name: str,
    x: str,
    shortcut: str,
    channels: int,
    stride: int,
) -> str:
    """The stride is the second convolution's, as in torchvision (the paper has it at the first one)."""
    x = builder.conv(f"{name}.conv1", x, channels, kernel=1, bias=False)
    x = builder.batch_norm(f"{name}.bn1", x)
    x = builder.relu(x)
    x = builder.conv(f"{name}.conv2", x, channels, stride=stride, bias=False)
    x = builder.batch_norm(f"{name}.bn2", x)
    x = builder.relu(x)
    x = builder.conv(f"{name}.conv3", x, 4 * channels, kernel=1, bias=False)
    x = builder.batch_norm(f"{name}.bn3", x)
    x = builder.add(x, shortcut)
    return builder.relu(x)


def _projected(builder: Builder, name: str, x: str, channels: int, stride: int) -> str:
    """A shortcut with a convolution where the shape changes."""
    if builder.shape(x)[0] == channels and stride == 1:
        return x
    prefix = f"{name}.downsample"
    x = builder.conv(f"{prefix}.0", x, channels, kernel=1, stride=stride, bias=False)
    return builder.batch_norm(f"{prefix}.1", x)


def _padded(builder: Builder, name: str, x: str, channels: int, stride: int) -> str:
    """A shortcut without parameters: every stride-th pixel, and channels of zeros around those of x."""
    if stride > 1:
        height, width = builder.shape(x)[1:]
        window = ((0, 0), (height, width), (2, 3), (stride, stride))
        x = builder.node("Slice", (x, *window), f"{name}.subsampled")
    missing = channels - builder.shape(x)[0]
    if missing:
        before = missing // 2
        after = missing - before
        x = builder.pad(f"{name}.padded", x, 1, before, after)
    return x
