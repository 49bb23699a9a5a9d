"""TensorBoard's files: checksums, our reader of them, and TensorFlow's own."""

import pytest

from deep500.exports.tensorboard import crc32c, event_record, scalar_event
from deep500.logs import log_dossier
from deep500.logs.tensorboard_events import _fields, _records, _scalars


def scalars(path):
    found = []
    content = path.read_bytes()
    for event in _records(content, path.name):
        step = 0
        for number, _, value in _fields(event, path.name):
            if number == 2 and isinstance(value, int):
                step = value
            elif number == 5 and isinstance(value, bytes):
                found += [(tag, step, scalar) for tag, scalar in _scalars(value, "x")]
    return found


def test_the_checksum_is_castagnolis():
    """The check value of the catalogue of CRCs, and RFC 3720's."""
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA


def test_curves_of_a_recipe_are_read_again(export, golden):
    folder = export("recipe", "tensorboard")
    runs = sorted(path.name for path in folder.iterdir())
    assert runs == [f"seed-{seed}" for seed in golden("recipe").plan.seeds]
    [file] = (folder / "seed-0").iterdir()
    rows = [row for row in golden("recipe").kind.sample_rows(golden("recipe"))]
    losses = [r for r in rows if r.quantity == "loss" and r.levels["seed"] == 0]
    read = [
        (step, value) for tag, step, value in scalars(file) if tag.startswith("loss/")
    ]
    assert [step for step, _ in read] == [row.levels["step"] for row in losses]
    assert [v for _, v in read] == pytest.approx([r.value for r in losses], rel=1e-6)
    assert log_dossier(file).number  # the audit reads it as a log of TensorBoard


def test_a_folder_that_is_not_empty_is_refused(export, tmp_path, capsys):
    (tmp_path / "recipe.tensorboard").mkdir()
    (tmp_path / "recipe.tensorboard" / "other").write_text("x")
    export("recipe", "tensorboard", code=2)
    assert "is not empty" in capsys.readouterr().err


def test_a_hostile_name_and_a_huge_value(tmp_path):
    event = scalar_event("a\x1b[31m", 1e300, 1 << 40)
    path = tmp_path / "events.out.tfevents.1"
    path.write_bytes(event_record(b"\x1a\x0dbrain.Event:2") + event_record(event))
    [(_, step, value)] = scalars(path)
    assert step == 1 << 40 and value == float("inf")


@pytest.mark.slow
def test_tensorflow_reads_them(export):
    tf = pytest.importorskip("tensorflow")
    [file] = (export("recipe", "tensorboard") / "seed-0").iterdir()
    values = []
    for record in tf.data.TFRecordDataset(str(file)):  # checks every checksum
        event = tf.compat.v1.Event.FromString(record.numpy())
        values += [(v.tag, event.step, v.simple_value) for v in event.summary.value]
    assert values == [(t, s, pytest.approx(v)) for t, s, v in scalars(file)]
