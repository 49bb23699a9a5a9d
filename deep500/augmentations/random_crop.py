"""Crops pictures at random."""

import numpy as np

from ..contracts.augmentation import Draws, ImageAugmentation, Spec
from ..errors import Deep500Error


class RandomCrop(ImageAugmentation):
    """Adds `padding` zeros on every side, then cuts out `height` × `width` anywhere (0: as large as before)."""

    padding: int = 4
    height: int = 0
    width: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.padding, self.height, self.width) < 0:
            raise Deep500Error(
                f"RandomCrop has padding {self.padding}, height {self.height} and width {self.width}: none "
                "is negative"
            )

    def change(self, pictures: np.ndarray, draws: Draws) -> np.ndarray:
        rows, columns = pictures.shape[2:]
        height, width = self._size((rows, columns))
        row_choices = rows + 2 * self.padding - height + 1
        column_choices = columns + 2 * self.padding - width + 1
        positions = draws.uniform(2) * (row_choices, column_choices)
        offsets = positions.astype(np.int64)
        corners = offsets - self.padding
        cropped = np.zeros((*pictures.shape[:2], height, width), pictures.dtype)
        for number, (first_row, first_column) in enumerate(corners.tolist()):
            source_rows, target_rows = _overlap(first_row, height, rows)
            source_columns, target_columns = _overlap(first_column, width, columns)
            inside = pictures[number, :, source_rows, source_columns]
            cropped[number, :, target_rows, target_columns] = inside
        return cropped

    def spec(self, before: Spec) -> Spec:
        channels = before.shape[0]
        height, width = self._size(before.shape[1:])
        return Spec((channels, height, width), before.dtype)

    def _size(self, before: tuple[int, ...]) -> tuple[int, int]:
        """The size of the cropped pictures; raises a Deep500Error if it is larger than a padded picture."""
        rows, columns = before
        height, width = self.height or rows, self.width or columns
        padded_rows = rows + 2 * self.padding
        padded_columns = columns + 2 * self.padding
        if height > padded_rows or width > padded_columns:
            raise Deep500Error(
                f"RandomCrop cuts out {height} × {width}, and a picture with its padding has only "
                f"{padded_rows} × {padded_columns}"
            )
        return height, width


def _overlap(start: int, length: int, size: int) -> tuple[slice, slice]:
    """Which of `length` pixels from `start` on are inside a picture: as a part of it, and as a part of the cut-out."""
    first = max(start, 0)
    end = max(first, min(start + length, size))
    return slice(first, end), slice(first - start, end - start)
