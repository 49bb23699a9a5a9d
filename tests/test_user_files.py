"""Files that users name are imported as they are now."""

import os
import sys
from pathlib import Path

import pytest

from deep500.user_files import imported


def test_a_file_of_the_same_second_and_size_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = tmp_path / "rewritten.py"
    for number in range(3):
        path.write_text(f"A = {number}\n")
        os.utime(path, ns=(0, 10**18 + number))  # other nanoseconds alone
        assert imported(path).A == number
