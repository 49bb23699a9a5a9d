"""A multilayer perceptron."""

from ._architecture import Architecture
from ._builder import Builder


class Mlp(Architecture):
    """Dense layers with Relu between them."""

    hidden: tuple[int, ...] = (64,)
    axes = ()
    tiny = ({"hidden": (5,)}, (1, 3, 4), 3)

    def forward(self, builder: Builder, x: str, outputs: int) -> str:
        x = builder.flatten(x)
        for i, width in enumerate(self.hidden, 1):
            x = builder.dense(f"fc{i}", x, width)
            x = builder.relu(x)
        return builder.dense(builder.output_name, x, outputs)

    def usual_sizes(self) -> tuple[tuple[int, ...], int]:
        return (1, 28, 28), 10
