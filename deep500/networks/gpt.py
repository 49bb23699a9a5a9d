"""A decoder of text in the way of GPT-2 (Radford et al., 2019)."""

from ._architecture import Architecture
from ._builder import Builder
from ._transformer import attention, feed_forward, token_and_position


class GPT(Architecture):
    """Gives the logits of the next token for every position, (batch, length, vocabulary); GPT-2 small by default.

    The shape is (length,), the number of outputs is the vocabulary. The last matrix is the table of tokens.
    """

    layers: int = 12
    width: int = 768
    heads: int = 12
    dropout: float = 0.1
    axes = ("length",)
    input_dtype = "int64"
    weights = "Normal"
    loss = "TokenCrossEntropy"
    tiny = ({"layers": 2, "width": 8, "heads": 2}, (5,), 11)

    def forward(self, builder: Builder, x: str, outputs: int) -> str:
        x = token_and_position(builder, x, outputs, self.width)
        x = builder.dropout(x, self.dropout)
        for layer in range(self.layers):
            x = self._layer(builder, f"layer{layer}", x)
        x = builder.layer_norm("norm", x)
        table = builder.node(
            "Transpose", ("tokens.weight",), "head.weight", perm=(1, 0)
        )
        return builder.node("MatMul", (x, table), "head")

    def usual_sizes(self) -> tuple[tuple[int, ...], int]:
        return (1024,), 50257

    def _layer(self, builder: Builder, name: str, x: str) -> str:
        normal = builder.layer_norm(f"{name}.norm1", x)
        mixed = attention(builder, f"{name}.attention", normal, self.heads, causal=True)
        mixed = builder.dropout(mixed, self.dropout)
        x = builder.add(x, mixed)
        normal = builder.layer_norm(f"{name}.norm2", x)
        hidden = 4 * self.width
        update = feed_forward(
            builder, f"{name}.mlp", normal, hidden, approximate="tanh"
        )
        update = builder.dropout(update, self.dropout)
        return builder.add(x, update)
