"""Curves, tables and event files, read back by others' readers."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from deep500.contracts.metric import History
from deep500.errors import Deep500Error
from deep500.training.checkpoint import load_checkpoint
from deep500.training.event_file import crc32c, framed, scalar
from deep500.training.events import (
    SaveCheckpoint,
    SaveCurves,
    WriteCsv,
    WriteTensorboard,
)
from deep500.training.trainer import Trainer

from .test_events import InterruptAfter

Make = Callable[..., Trainer]


def interrupted(run: Trainer) -> None:
    with pytest.raises(KeyboardInterrupt):
        run.run()


def rows(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def check_table(found: list[dict[str, str]], history: History) -> None:
    assert [int(row["step"]) for row in found] == [*range(1, history.steps + 1)]
    for name in ("loss", "seconds", "batch"):
        assert [float(row[name]) for row in found] == history.series[name]
    qualities = [
        row["validation accuracy"] for row in found if row["validation accuracy"]
    ]
    recorded = [record["validation"]["accuracy"] for record in history.evaluations]
    assert list(map(float, qualities)) == recorded


def test_a_table_has_a_row_for_each_step(trainer: Make, tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    history = trainer(epochs=3, events=[WriteCsv(path)]).run()
    check_table(rows(path), history)


def test_the_table_of_a_resumed_run_is_whole(trainer: Make, tmp_path: Path) -> None:
    path, table = tmp_path / "run.safetensors", tmp_path / "run.csv"
    interrupted(trainer(events=[SaveCheckpoint(path), InterruptAfter(2)]))
    history = trainer(events=[WriteCsv(table)]).run(load_checkpoint(path))
    check_table(rows(table), history)


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_curves_are_drawn(trainer: Make, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"curves.{ending}"
    trainer(epochs=2, events=[SaveCurves(path)]).run()
    data = path.read_bytes()
    if ending == "png":
        assert data.startswith(b"\x89PNG") and len(data) > 5000
    else:
        texts = [element.text for element in ElementTree.fromstring(data).iter()]
        assert {"training loss", "validation accuracy (%)", "epoch"} <= {*texts}


def test_what_cannot_be_written_is_told(trainer: Make, tmp_path: Path) -> None:
    with pytest.raises(Deep500Error, match=r"its name ends in .png, .svg, .pdf"):
        SaveCurves("curves.doc")
    for event in (
        WriteCsv(tmp_path / "no" / "x.csv"),
        SaveCurves(tmp_path / "no" / "x.png"),
    ):
        with pytest.raises(Deep500Error, match="cannot be written: .*No such file"):
            trainer(epochs=1, events=[event]).run()
    (tmp_path / "file").touch()
    with pytest.raises(Deep500Error, match="cannot be written: "):
        trainer(epochs=1, events=[WriteTensorboard(tmp_path / "file")]).run()


def test_the_checksum_is_crc32c() -> None:
    # the check value of the algorithm's definition
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA  # RFC 3720, B.4


def scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """What TensorFlow's own reader, which checks every checksum, finds in the event files."""
    tensorflow: Any = pytest.importorskip("tensorflow")
    found: dict[str, list[tuple[int, float]]] = {}
    for path in sorted(folder.glob("*tfevents*")):
        for event in tensorflow.compat.v1.train.summary_iterator(str(path)):
            for value in event.summary.value:
                found.setdefault(value.tag, []).append((event.step, value.simple_value))
    return found


def test_tensorflow_reads_an_event_file(trainer: Make, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    history = trainer(epochs=2, events=[WriteTensorboard(folder)]).run()
    found = scalars(folder)
    steps, losses = zip(*found["train/loss"], strict=True)
    assert steps == (*range(1, 21),) and losses == pytest.approx(history.losses)
    assert {"train/seconds", "train/batch"} <= found.keys()
    assert [step for step, _ in found["validation/accuracy"]] == [10, 20]
    [(step, value)] = found["test/accuracy"]
    assert step == 20
    assert value == pytest.approx(history.evaluations[-1]["test"]["accuracy"])


def test_a_resumed_run_writes_what_is_new_into_a_file_of_its_own(
    trainer: Make, tmp_path: Path
) -> None:
    path, folder = tmp_path / "run.safetensors", tmp_path / "runs"
    interrupted(
        trainer(
            events=[SaveCheckpoint(path), WriteTensorboard(folder), InterruptAfter(2)]
        )
    )
    history = trainer(events=[WriteTensorboard(folder)]).run(load_checkpoint(path))
    assert len([*folder.iterdir()]) == 2
    assert [value for _, value in scalars(folder)["train/loss"]] == pytest.approx(
        history.losses
    )


def test_a_damaged_event_file_is_found(tmp_path: Path) -> None:
    tensorflow: Any = pytest.importorskip("tensorflow")
    data = bytearray(framed(scalar(1.5, 300, "loss", 0.25)))
    data[20] ^= 1
    (tmp_path / "x.tfevents").write_bytes(data)
    with pytest.raises(tensorflow.errors.DataLossError):
        scalars(tmp_path)
