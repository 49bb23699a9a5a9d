"""The layers of transformers."""

from ..errors import Deep500Error
from ._builder import Builder


def attention(
    builder: Builder, name: str, x: str, heads: int, causal: bool = False
) -> str:
    """Self-attention of several heads, with a dense layer for queries, keys and values before it and one behind."""
    width = builder.shape(x)[-1]
    if width % heads:
        raise Deep500Error(
            f"a width of {width} cannot be divided among {heads} heads: give others"
        )
    together = builder.dense(f"{name}.qkv", x, 3 * width)
    parts = [f"{name}.query", f"{name}.key", f"{name}.value"]
    sizes = (width, width, width)
    builder.node("Split", (together, sizes), f"{name}.split", parts, axis=-1)
    mixed = builder.node(
        "Attention",
        parts,
        f"{name}.mixed",
        q_num_heads=heads,
        kv_num_heads=heads,
        is_causal=int(causal),
    )
    return builder.dense(f"{name}.out", mixed, width)


def feed_forward(
    builder: Builder, name: str, x: str, hidden: int, approximate: str = "none"
) -> str:
    """Two dense layers with a Gelu between them, for each position by itself."""
    width = builder.shape(x)[-1]
    x = builder.dense(f"{name}.fc1", x, hidden)
    x = builder.gelu(x, approximate)
    return builder.dense(f"{name}.fc2", x, width)


def token_and_position(
    builder: Builder, tokens: str, vocabulary: int, width: int
) -> str:
    """An embedding of every token plus one of its position."""
    (length,) = builder.shape(tokens)
    embedded = builder.embedding("tokens", tokens, vocabulary, width)
    positions = builder.param("positions.weight", (length, width))
    return builder.add(embedded, positions)
