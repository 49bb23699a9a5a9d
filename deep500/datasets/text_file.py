"""A text, character by character, for language models."""

from pathlib import Path

import numpy as np

from ..contracts.dataset import Dataset, Split
from ..errors import Deep500Error
from ._columns import WindowsColumn
from ._files import one_file, printable_path, read_bytes

MOST_BYTES = 1 << 30


class TextFile(Dataset):
    """A text as sequences of `length` characters ("tokens") and the characters that follow them ("next").

    A character's number is its index among the sorted distinct characters of the file. The first part of the text is
    for training, then come validation and test; sequences begin `stride` characters apart (0: `length`).
    """

    file: str = ""
    folder: str = ""
    length: int = 64
    stride: int = 0
    validation: float = 0.1
    test: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.length < 1 or self.stride < 0:
            raise Deep500Error(
                f"length is {self.length} and stride is {self.stride}: a sequence has 1 character at "
                "least, and the next one begins after it"
            )
        shares = (self.validation, self.test)
        if min(shares) <= 0 or sum(shares) >= 1:
            raise Deep500Error(
                f"validation is {self.validation} and test is {self.test}: each is a share of the text "
                "above 0, and something must be left to train on"
            )

    def files(self) -> dict[str, Path]:
        return {"text": one_file("text_file", self.folder, self.file)}

    def vocabulary(self) -> str:
        """All distinct characters of the text: the one at index n has the number n."""
        characters = set(self._text())
        return "".join(sorted(characters))

    def load(self) -> dict[str, Split]:
        tokens = self._tokens()
        size = len(tokens)
        first_of_test = size - round(size * self.test)
        first_of_validation = first_of_test - round(size * self.validation)
        return {
            "train": self._split(tokens, 0, first_of_validation),
            "validation": self._split(tokens, first_of_validation, first_of_test),
            "test": self._split(tokens, first_of_test, size),
        }

    def _split(self, tokens: np.ndarray, first: int, end: int) -> Split:
        stride = self.stride or self.length
        count = (end - first - self.length - 1) // stride + 1
        if count < 1:
            raise Deep500Error(
                f"the text is too short: a split has {end - first} characters, and one sequence with "
                f"what follows needs {self.length + 1}"
            )
        inputs = WindowsColumn(tokens, first, count, self.length, stride)
        following = WindowsColumn(tokens, first + 1, count, self.length, stride)
        return Split({"tokens": inputs, "next": following})

    def _tokens(self) -> np.ndarray:
        """The text as the numbers of its characters."""
        encoded = self._text().encode("utf-32-le")
        code_points = np.frombuffer(encoded, np.uint32)
        _, numbers = np.unique(code_points, return_inverse=True)
        return numbers.astype(np.int32)

    def _text(self) -> str:
        path = self.files()["text"]
        try:
            text = read_bytes(path, MOST_BYTES).decode("utf-8")
        except UnicodeDecodeError as error:
            reason, position = error.reason, error.start
            raise Deep500Error(
                f"{printable_path(path)} is no UTF-8 text: {reason} at byte {position}"
            ) from None
        if not text:
            raise Deep500Error(f"{printable_path(path)} is empty")
        return text
