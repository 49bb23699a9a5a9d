"""A classifier from an ONNX file, as a definition that recipes can name."""

from pathlib import Path

import pytest

from deep500.errors import Deep500Error
from deep500.networks import DigitsCnn, OnnxFile


def test_a_file_is_a_network_for_recipes(tmp_path: Path) -> None:
    path, digits = (
        str(tmp_path / "digits.onnx"),
        DigitsCnn(channels=(2, 3), hidden=(7, 6)),
    )
    network = digits.build((1, 8, 8), 4, seed=1)
    network.to_onnx(path)
    assert OnnxFile(path).build((1, 8, 8), 4).nodes == network.nodes
    with pytest.raises(Deep500Error, match="are wanted"):
        OnnxFile(path).build((3, 8, 8), 4)
