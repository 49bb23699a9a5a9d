"""The settings of reproducible training: how a batch is divided into leaves, and how their gradients are added."""

from ..definition import Definition
from ..errors import Deep500Error

MOST_ROWS = 1 << 20
# of the bits behind the point
RANGE = (0, 100)


class Leaves(Definition):
    """Leaves are groups of `rows` neighbouring examples of a batch, whichever rank has them.

    What is added over leaves is added in whole multiples of 2^-fraction, so that no order matters; numbers must be
    smaller than 2^(51 - fraction).
    """

    rows: int = 16
    fraction: int = 40

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.rows <= MOST_ROWS:
            raise Deep500Error(
                f"a leaf of reproducible training has {self.rows} rows: give 1 to {MOST_ROWS}, such as 16"
            )
        low, high = RANGE
        if not low <= self.fraction <= high:
            raise Deep500Error(
                f"reproducible training with {self.fraction} bits behind the point: give {low} to {high}, such as 40"
            )

    def __str__(self) -> str:
        return f"{self.rows},{self.fraction}"

    def count(self, rows: int) -> int:
        """The number of leaves of so many rows."""
        return -(-rows // self.rows)


def leaves_of(value: object) -> Leaves | None:
    """The leaves of a recipe's entry: True, "ROWS", "ROWS,FRACTION" or Leaves; None for False."""
    if isinstance(value, Leaves):
        return value
    if isinstance(value, bool):
        return Leaves() if value else None
    try:
        numbers = [int(word) for word in str(value).split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2):
        raise Deep500Error(
            f"reproducible training is asked for with {str(value)[:40]!r}: give nothing, the rows of a leaf (16), or "
            "these and the bits behind the point (16,40)"
        )
    return Leaves(*numbers)
