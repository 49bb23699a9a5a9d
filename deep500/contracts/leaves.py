"""The settings of reproducible training: how a batch is divided into leaves, and how their gradients are added."""

from ..definition import Definition
from ..errors import Deep500Error, unknown

MOST_ROWS = 1 << 20
# of the bits behind the point
RANGE = (0, 100)
KERNELS = ("fixed", "framework")
DEFAULTS = (16, 40)


class Leaves(Definition):
    """Leaves are groups of `rows` neighbouring examples of a batch, whichever rank has them.

    What is added over leaves is added in whole multiples of 2^-fraction, so that no order matters; numbers must be
    smaller than 2^(51 - fraction). `kernels` are "fixed", with the same bits on every processor, or those of the
    "framework"; "" takes fixed ones where the network and its optimizer have them.
    """

    rows: int = DEFAULTS[0]
    fraction: int = DEFAULTS[1]
    kernels: str = ""

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

        if self.kernels not in ("", *KERNELS):
            raise unknown("kernels of reproducible training", self.kernels, KERNELS)

    def __str__(self) -> str:
        words = [str(self.rows), str(self.fraction), self.kernels]
        return ",".join(word for word in words if word)

    def count(self, rows: int) -> int:
        """The number of leaves of so many rows."""
        return -(-rows // self.rows)


def leaves_of(value: object) -> Leaves | None:
    """The leaves of a recipe's entry: True, Leaves, or words such as "16,40,fixed", some left out; None for False."""
    if isinstance(value, Leaves):
        return value
    if isinstance(value, bool):
        return Leaves() if value else None
    words = str(value).split(",")
    names = [word for word in words if word in KERNELS]
    try:
        numbers = [int(word) for word in words if word not in names]
    except ValueError:
        numbers = [0, 0, 0]
    if len(numbers) > 2 or len(names) > 1:
        raise Deep500Error(
            f"reproducible training is asked for with {str(value)[:40]!r}: give nothing, or the rows of a leaf (16), "
            f"these and the bits behind the point (16,40), and the kernels ({' or '.join(KERNELS)}), as in 16,40,fixed"
        )
    rows, fraction = [*numbers, *DEFAULTS[len(numbers) :]]
    return Leaves(rows, fraction, "".join(names))
