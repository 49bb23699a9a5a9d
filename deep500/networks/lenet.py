"""LeNet-5 (LeCun et al., 1998) as it is taught today."""

from ._architecture import Architecture
from ._builder import Builder


class LeNet(Architecture):
    """Two convolutions of 5 x 5 with tanh and mean pools, three dense layers: 61,706 parameters for MNIST.

    The first form had 60,000: its second convolution saw some of the channels only, and its pools were trained.
    """

    tiny = ({}, (1, 16, 16), 3)

    def forward(self, builder: Builder, x: str, outputs: int) -> str:
        x = builder.conv("conv1", x, 6, kernel=5)
        x = builder.tanh(x)
        x = builder.average_pool(x)
        x = builder.conv("conv2", x, 16, kernel=5, padding=0)
        x = builder.tanh(x)
        x = builder.average_pool(x)
        x = builder.flatten(x)
        x = builder.dense("fc1", x, 120)
        x = builder.tanh(x)
        x = builder.dense("fc2", x, 84)
        x = builder.tanh(x)
        return builder.dense("fc3", x, outputs)

    def usual_sizes(self) -> tuple[tuple[int, ...], int]:
        return (1, 28, 28), 10
