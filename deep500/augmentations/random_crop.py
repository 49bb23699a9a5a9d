"""A random part of every picture."""

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
        room = (
            rows + 2 * self.padding - height + 1,
            columns + 2 * self.padding - width + 1,
        )
        places = (draws.uniform(2) * room).astype(np.int64) - self.padding
        cropped = np.zeros((*pictures.shape[:2], height, width), pictures.dtype)
        for number, (top, left) in enumerate(places.tolist()):
            first_row, end_row = max(top, 0), min(top + height, rows)
            first_column, end_column = max(left, 0), min(left + width, columns)
            visible = pictures[number, :, first_row:end_row, first_column:end_column]
            down, right = first_row - top, first_column - left
            below, beyond = down + visible.shape[1], right + visible.shape[2]
            cropped[number, :, down:below, right:beyond] = visible
        return cropped

    def spec(self, before: Spec) -> Spec:
        return Spec((before.shape[0], *self._size(before.shape[1:])), before.dtype)

    def _size(self, before: tuple[int, ...]) -> tuple[int, int]:
        height, width = self.height or before[0], self.width or before[1]
        room = before[0] + 2 * self.padding, before[1] + 2 * self.padding
        if height > room[0] or width > room[1]:
            raise Deep500Error(
                f"RandomCrop cuts out {height} × {width}, and a picture with its padding has only "
                f"{room[0]} × {room[1]}"
            )
        return height, width
