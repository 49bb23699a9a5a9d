"""TensorBoard's own files are read as they are; damaged ones are read up to the damage, or refused in one line."""

import base64
import random
from pathlib import Path

import pytest

from deep500.dossiers.audit_sources import audit_sources
from deep500.errors import Deep500Error
from deep500.logs import log_dossier

# written by tensorboardX: accuracy/test at steps 0 and 10, and a learning rate
SIMPLE = base64.b64decode(
    "GAAAAAAAAACjf0siCXs5LrTTv9pBGg1icmFpbi5FdmVudDoySy28GyEAAAAAAAAAAXvs9glMYC60"
    "07/aQSoWChQKDWFjY3VyYWN5L3Rlc3QVAAAAP7mqd+oWAAAAAAAAAE9hvigJL2MutNO/2kEqCwoJ"
    "CgJschXNzMw9US/3XiMAAAAAAAAAsJ93Qwl6ZS6007/aQRAKKhYKFAoNYWNjdXJhY3kvdGVzdBUA"
    "AEA/VbJfRhgAAAAAAAAAo39LIgmkZS6007/aQRAKKgsKCQoCbHIVzczMPRSb+GM="
)
# written by TensorFlow 2: epoch_loss at steps 0 and 1, as tensors
TENSORS = base64.b64decode(
    "PgAAAAAAAADZ0kDnCQAAAMbTv9pBGg1icmFpbi5FdmVudDoyUiQKInRlbnNvcmZsb3cuY29yZS51"
    "dGlsLmV2ZW50c193cml0ZXLqAJ7EJQAAAAAAAADqvDbzCcbhFcbTv9pBKhoKGAoKZXBvY2hfbG9z"
    "c0IKCAESACIEAAAgQEVsmbwnAAAAAAAAALvhsUYJkukVxtO/2kEQASoaChgKCmVwb2NoX2xvc3NC"
    "CggBEgAiBAAAwD8sn/Nm"
)
NAME = "events.out.tfevents.1795116752.vm"


def test_the_last_value_of_every_quality_is_read(tmp_path: Path) -> None:
    for content, name, value in (
        (SIMPLE, "accuracy/test", 0.75),
        (TENSORS, "epoch_loss", 1.5),
    ):
        path = tmp_path / NAME
        path.write_bytes(content)
        [number] = log_dossier(path).number  # a learning rate is no quality
        assert (number.name, number.value, number.kind) == (name, value, "quality")
    [evidence] = number.evidence("value")
    assert (evidence.file, evidence.field) == (NAME, "step 1/value")


def test_a_folder_of_runs_is_read(tmp_path: Path) -> None:
    for split, content in (("train", TENSORS), ("test", SIMPLE)):
        (tmp_path / split).mkdir()
        (tmp_path / split / NAME).write_bytes(content)
    audit = audit_sources(tmp_path, rules=["F2"])
    [found] = audit.outcomes
    assert found.verdict == "PASS" and len(audit.sources) == 2


def test_a_record_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(TENSORS[:-10])
    [number] = log_dossier(path).number
    assert number.value == 2.5


def test_damage_is_one_line(tmp_path: Path) -> None:
    rng = random.Random(0)
    path = tmp_path / NAME
    for _ in range(300):
        content = bytearray(rng.choice((SIMPLE, TENSORS)))
        content[rng.randrange(40, len(content))] = rng.randrange(256)
        path.write_bytes(content)
        try:
            log_dossier(path)
        except Deep500Error as error:
            assert "\n" not in str(error)


def test_a_giant_record_is_refused(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(SIMPLE[:40] + b"\xff" * 12)
    with pytest.raises(Deep500Error, match="a record of 1844674407"):
        log_dossier(path)
