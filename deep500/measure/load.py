"""What others used of the CPUs while a block was measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from ..schema import Between, Share, optional


@dataclass(frozen=True)
class Load:
    """The share of the CPUs that others used, and how many CPUs each entry kept busy, if that is known."""

    others: Share
    cpus: Annotated[int, Between(1, 1_000_000)]
    used: Sequence[Annotated[float, Between(0, 1e6)]] | None = optional()
