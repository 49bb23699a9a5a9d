"""How many entries are left when sparse streams are merged."""


class FillIn:
    """How many entries are left when the streams of m ranks are merged: N (1 - (1 - d)^m) for independent places.

    With the union of all P ranks measured, d is what would have led to it; no sum has fewer entries than one rank.
    """

    def __init__(
        self, count: int, entries: int, size: int = 1, union: int | None = None
    ):
        self.count = count
        self.entries = entries
        self.missing = 1 - (entries / count if count else 0)
        if union is not None and count:
            self.missing = max(0.0, 1 - union / count) ** (1 / size)

    def __call__(self, ranks: int, part: int = 1) -> float:
        """Of `ranks` ranks, in one of so many equal parts of the vector."""
        merged = self.count * (1 - self.missing**ranks)
        return max(self.entries, merged) / part


def stream_bytes(entries: float, count: float, gamma: float) -> float:
    """The bytes of a stream in its shorter form."""
    return min(entries * (4 + gamma), count * gamma)
