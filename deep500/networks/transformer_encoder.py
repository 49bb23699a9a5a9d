"""A classifier of text like BERT (Devlin et al., 2019) and DistilBERT (Sanh et al., 2019)."""

from ._architecture import Architecture
from ._builder import Builder
from ._transformer import attention, feed_forward, token_and_position


class TransformerEncoder(Architecture):
    """Attention and dense layers with normalised sums; the first token determines the class. DistilBERT by default.

    The shape is (length,); inputs are integers below `vocabulary`.
    """

    vocabulary: int = 30522
    layers: int = 6
    width: int = 768
    heads: int = 12
    dropout: float = 0.1
    axes = ("length",)
    input_dtype = "int64"
    weights = "Normal"
    tiny = ({"vocabulary": 7, "layers": 2, "width": 8, "heads": 2}, (5,), 3)

    def forward(self, builder: Builder, x: str, outputs: int) -> str:
        x = token_and_position(builder, x, self.vocabulary, self.width)
        x = builder.layer_norm("norm", x, epsilon=1e-12)
        x = builder.dropout(x, self.dropout)
        for layer in range(self.layers):
            x = self._layer(builder, f"layer{layer}", x)
        first = builder.constant("first_token", 0, "int64")
        x = builder.node("Gather", (x, first), "first", axis=1)
        x = builder.dense("fc1", x, self.width)
        x = builder.relu(x)
        x = builder.dropout(x, self.dropout)
        return builder.dense("fc2", x, outputs)

    def usual_sizes(self) -> tuple[tuple[int, ...], int]:
        return (512,), 2

    def _layer(self, builder: Builder, name: str, x: str) -> str:
        mixed = attention(builder, f"{name}.attention", x, self.heads)
        mixed = builder.dropout(mixed, self.dropout)
        total = builder.add(x, mixed)
        x = builder.layer_norm(f"{name}.norm1", total, epsilon=1e-12)
        update = feed_forward(builder, f"{name}.mlp", x, 4 * self.width)
        update = builder.dropout(update, self.dropout)
        total = builder.add(x, update)
        return builder.layer_norm(f"{name}.norm2", total, epsilon=1e-12)
