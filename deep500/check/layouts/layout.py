"""The layouts in which a reproducible recipe is trained: everything that must not change a bit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

FEW_BYTES = 1000


@dataclass(frozen=True)
class RankLayout:
    """How a batch is shared and added up. Without ranks, the recipe trains as `d5 run` does by default."""

    ranks: int = 0
    transport: str = "virtual"
    bucket_bytes: int = 0  # 0: the scheme's own
    collective: str = ""  # "": the engine's own
    threads: int = 1
    backwards: bool = False
    resumed: bool = False

    @property
    def name(self) -> str:
        parts = ["no ranks"]
        if self.ranks:
            noun = "rank" if self.ranks == 1 else "ranks"
            parts = [f"{self.ranks} {self.transport} {noun}"]
        if self.bucket_bytes:
            parts.append(f"buckets of {self.bucket_bytes} bytes")
        if self.collective:
            parts.append(f"added by {self.collective}")
        if self.threads > 1:
            parts.append(f"{self.threads} threads asked for")
        if self.backwards:
            parts.append("leaves in reverse order")
        if self.resumed:
            parts.append("interrupted and resumed")
        return ", ".join(parts)


def layouts(most_ranks: int, transports: Sequence[str]) -> Iterator[RankLayout]:
    """The layouts that are tried; all are compared with the first."""
    yield RankLayout()
    yield RankLayout(threads=2)
    yield RankLayout(threads=2, backwards=True)
    yield RankLayout(backwards=True)
    yield RankLayout(resumed=True)
    for ranks in range(1, most_ranks + 1):
        yield RankLayout(ranks)
    for ranks in sorted({2, 3, 5} & {*range(most_ranks + 1)}):
        yield RankLayout(ranks, bucket_bytes=FEW_BYTES)
    for collective in ("Ring()", "Direct()", "BinomialTree()", "Pipeline()"):
        ranks = min(3, most_ranks)
        yield RankLayout(ranks, collective=collective, bucket_bytes=FEW_BYTES)
    if most_ranks > 1:
        yield RankLayout(2, backwards=True, threads=2)
    for transport in transports:
        if transport != "virtual" and most_ranks > 1:
            yield RankLayout(2, transport)
