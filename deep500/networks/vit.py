"""The vision transformer (Dosovitskiy et al., 2021)."""

from ..errors import Deep500Error
from ._architecture import Architecture
from ._builder import Builder, zeros
from ._transformer import attention, feed_forward


class ViT(Architecture):
    """A transformer over the patches of a picture and one more token for the class; ViT-B/16 by default."""

    patch: int = 16
    layers: int = 12
    width: int = 768
    heads: int = 12
    hidden: int = 3072
    dropout: float = 0.0
    weights = "Normal"
    tiny = (
        {"patch": 4, "layers": 2, "width": 8, "heads": 2, "hidden": 12},
        (3, 8, 12),
        3,
    )

    def forward(self, builder: Builder, x: str, outputs: int) -> str:
        x = self._tokens(builder, x)
        for layer in range(self.layers):
            x = self._layer(builder, f"layer{layer}", x)
        x = builder.layer_norm("norm", x, epsilon=1e-6)
        first = builder.constant("first_token", 0, "int64")
        x = builder.node("Gather", (x, first), "first", axis=1)
        return builder.dense("head", x, outputs)

    def usual_sizes(self) -> tuple[tuple[int, ...], int]:
        return (3, 224, 224), 1000

    def _tokens(self, builder: Builder, x: str) -> str:
        """The class token and the patches, with their positions: (batch, 1 + patches, width)."""
        _, height, width = builder.shape(x)
        if height % self.patch or width % self.patch:
            raise Deep500Error(
                f"ViT with patches of {self.patch} takes heights and widths that are multiples of "
                f"it: not {(height, width)}"
            )
        grid = builder.conv("patches", x, self.width, self.patch, self.patch, padding=0)
        flat_shape = (0, self.width, -1)
        rows = builder.node("Reshape", (grid, flat_shape), "patches.flat")
        rows = builder.node("Transpose", (rows,), "patches.rows", perm=(0, 2, 1))
        count = builder.shape(rows)[0]
        token = builder.param("class_token", (1, 1, self.width), zeros())
        positions = builder.param("positions.weight", (count + 1, self.width))
        # A sum of padded parts, since a concatenation would need the token once per example.
        patches = builder.pad("patches.padded", rows, 1, before=1, after=0)
        first = builder.pad("class_token.padded", token, 1, before=0, after=count)
        tokens = builder.add(patches, first)
        tokens = builder.add(tokens, positions)
        return builder.dropout(tokens, self.dropout)

    def _layer(self, builder: Builder, name: str, x: str) -> str:
        normal = builder.layer_norm(f"{name}.norm1", x, epsilon=1e-6)
        mixed = attention(builder, f"{name}.attention", normal, self.heads)
        mixed = builder.dropout(mixed, self.dropout)
        x = builder.add(x, mixed)
        normal = builder.layer_norm(f"{name}.norm2", x, epsilon=1e-6)
        update = feed_forward(builder, f"{name}.mlp", normal, self.hidden)
        update = builder.dropout(update, self.dropout)
        return builder.add(x, update)
