"""A recommendation model in the way of DLRM (Naumov et al., 2019)."""

from collections.abc import Sequence

from ._architecture import Architecture
from ._builder import Builder

CATEGORIES = "categories"


class DLRM(Architecture):
    """Predicts clicks: embeddings and a perceptron give vectors, and another perceptron takes their inner products.

    Inputs are "x" (the real features) and "categories" (for each table an integer below its size); the result is one
    score. With the tables of Criteo's Kaggle data it is the network of the paper's repository.
    """

    tables: tuple[int, ...] = (1000,) * 26
    width: int = 16
    bottom: tuple[int, ...] = (512, 256, 64)
    top: tuple[int, ...] = (512, 256)
    axes = ("features",)
    loss = "BinaryCrossEntropy"
    tiny = (
        {"tables": (4, 5, 3), "width": 4, "bottom": (6,), "top": (7,)},
        (5,),
        1,
    )

    def forward(self, builder: Builder, x: str, outputs: int) -> str:
        categories = builder.input(CATEGORIES, (len(self.tables),), "int64")
        dense = _perceptron(builder, "bottom", x, (*self.bottom, self.width))
        embeddings = self._embeddings(builder, categories)
        products = _products(builder, [dense, *embeddings])
        x = builder.concat("features", (dense, products))
        x = _perceptron(builder, "top", x, self.top)
        return builder.dense("score", x, outputs)

    def usual_sizes(self) -> tuple[tuple[int, ...], int]:
        return (13,), 1

    def _embeddings(self, builder: Builder, categories: str) -> list[str]:
        columns = [f"category{i}" for i in range(len(self.tables))]
        ones = (1,) * len(columns)
        builder.node("Split", (categories, ones), "columns", columns, axis=1)
        vectors = []
        for i, rows in enumerate(self.tables):
            vector = builder.embedding(f"table{i}", columns[i], rows, self.width)
            vectors.append(builder.flatten(vector))
        return vectors


def _perceptron(builder: Builder, name: str, x: str, widths: Sequence[int]) -> str:
    for i, width in enumerate(widths):
        x = builder.dense(f"{name}.{i}", x, width)
        x = builder.relu(x)
    return x


def _products(builder: Builder, vectors: Sequence[str]) -> str:
    """The inner product of each pair of different vectors."""
    count = len(vectors)
    width = builder.shape(vectors[0])[-1]
    together = builder.concat("vectors", vectors)
    shape = (-1, count, width)
    rows = builder.node("Reshape", (together, shape), "vectors.rows")
    columns = builder.node("Transpose", (rows,), "vectors.columns", perm=(0, 2, 1))
    square = builder.node("MatMul", (rows, columns), "products.square")
    flat = builder.flatten(square)
    indices: list[int] = []  # of the elements below the diagonal
    for row in range(count):
        start = row * count
        indices += range(start, start + row)
    places = builder.constant("products.places", indices, "int64")
    return builder.node("Gather", (flat, places), "products", axis=1)
