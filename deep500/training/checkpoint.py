"""A checkpoint: everything that a training run needs to continue as if it had never stopped, in one safetensors file.

It has named sections ("parameters", "optimizer", "sampler" …), each with the state of one component: NumPy arrays,
which become tensors named "section/name", and JSON values, which are stored in the metadata together with the history.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from ..bundle.containers import ascii_line
from ..bundle.encoding import canonical, parse
from ..contracts.metric import History
from ..contracts.state import State
from ..errors import Deep500Error

FORMAT = 2
HISTORY = "history"  # the section that holds the series
Arrays = dict[str, np.ndarray]
# section name -> name -> array or JSON value
Sections = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Checkpoint:
    """The state of a run of which `batch` batches of epoch `epoch` (from 0) are done, and its history so far."""

    sections: Sections
    epoch: int
    batch: int
    history: History


def save_checkpoint(path: str | Path, checkpoint: Checkpoint) -> None:
    """Write to a temporary file and rename it, so that a reader sees either the old file or the new one, complete."""
    history = checkpoint.history
    tensors: Arrays = {}
    values: Sections = {}
    for section, state in checkpoint.sections.items():
        _check_section_name(section)
        values[section] = {}
        for name, value in state.items():
            if isinstance(value, np.ndarray):
                tensors[f"{section}/{name}"] = value
            else:
                values[section][name] = value
    for name, numbers in history.series.items():
        tensors[f"{HISTORY}/{name}"] = np.array(numbers, np.float64)
    about = {
        "format": FORMAT,
        "sections": values,
        "epoch": checkpoint.epoch,
        "batch": checkpoint.batch,
        "seed": history.seed,
        "counters": history.counters,
        "evaluations": [_written(record) for record in history.evaluations],
        "within_epochs": [_written(look) for look in history.within_epochs],
    }
    # safetensors copies the memory of an array as it is, whatever its strides
    contiguous = {name: np.asarray(value, order="C") for name, value in tensors.items()}
    metadata = {"deep500": canonical(about).decode()}
    _write_whole(Path(path), save(contiguous, metadata))


def load_checkpoint(path: str | Path) -> Checkpoint:
    """Read a checkpoint; raise a Deep500Error if the file is not a complete one. No code from it is run."""
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            text = metadata["deep500"]
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it has no __iter__)
        return _checkpoint(tensors, parse(text.encode()))
    except FileNotFoundError:
        raise Deep500Error(f"there is no checkpoint {path}") from None
    # safetensors lets NumPy's TypeError or AttributeError through for a dtype that NumPy does not have
    except (
        OSError,
        SafetensorError,
        KeyError,
        TypeError,
        AttributeError,
        ValueError,
        Deep500Error,
    ) as error:
        raise Deep500Error(
            f"{path} is not a checkpoint of Deep500: {ascii_line(error)}"
        ) from None


def check_fit(section: str, saved: State, current: State) -> None:
    """Raise a Deep500Error unless both states have the same names, and arrays of the same shapes and dtypes."""
    mismatch = (
        f"the checkpoint is of another network or optimizer: {section} {{!r}} {{}}"
    )
    for name in current:
        if name not in saved:
            raise Deep500Error(mismatch.format(name, "is not in the checkpoint"))
    for name, value in saved.items():
        if name not in current:
            raise Deep500Error(mismatch.format(name, "is in the checkpoint only"))
        saved_type, current_type = _type_text(value), _type_text(current[name])
        if saved_type != current_type:
            difference = f"is {saved_type} in it, and {current_type} here"
            raise Deep500Error(mismatch.format(name, difference))


def _type_text(value: Any) -> str:
    if isinstance(value, np.ndarray | np.generic):
        return f"{value.dtype}{list(value.shape)}"
    return type(value).__name__


def _write_whole(path: Path, data: bytes) -> None:
    partial = path.with_name(f".{path.name}.partial")
    try:
        with open(partial, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise Deep500Error(
            f"the checkpoint {path} cannot be written: {ascii_line(error)}"
        ) from None


def _check_section_name(name: str) -> None:
    if not name or "/" in name or name == HISTORY:
        raise Deep500Error(
            f"{name!r} cannot be a section of a checkpoint: give a name without '/', and not {HISTORY!r}"
        )


def _checkpoint(tensors: Arrays, about: Any) -> Checkpoint:
    """Validate the contents of a file; raises ValueError, KeyError or TypeError if they are malformed."""
    if about["format"] != FORMAT:
        file_format = str(about["format"])[:20]
        raise ValueError(
            f"its format is {file_format}, and {FORMAT} is what can be read"
        )
    sections: Sections = {}
    for name, values in about["sections"].items():
        sections[name] = dict(values)
    series: dict[str, list[float]] = {}
    for full_name, value in tensors.items():
        section, _, name = full_name.partition("/")
        if section == HISTORY:
            series[name] = _series(name, value)
        elif section not in sections:
            raise ValueError(f"it holds a tensor of no section, {full_name[:50]!r}")
        else:
            sections[section][name] = value
    steps = _steps(series)
    seed = _count(about["seed"])
    counters = {name: _number(value) for name, value in about["counters"].items()}
    evaluations = [_evaluation(record, steps) for record in about["evaluations"]]
    # older checkpoints have no such list
    within_epochs = [
        _evaluation(look, steps) for look in about.get("within_epochs", [])
    ]
    history = History(seed, series, counters, evaluations, within_epochs)
    epoch, batch = _count(about["epoch"]), _count(about["batch"])
    if epoch + batch > steps:
        raise ValueError(
            f"it says {steps} steps and epoch {epoch}, batch {batch}, which do not go together"
        )
    return Checkpoint(sections, epoch, batch, history)


def _series(name: str, values: np.ndarray) -> list[float]:
    if values.ndim != 1 or values.dtype != np.float64:
        raise ValueError(
            f"the series {name[:50]!r} of its history is not a list of numbers"
        )
    return values.tolist()


def _steps(series: Mapping[str, list[float]]) -> int:
    if len(series["loss"]) != len(series["seconds"]):
        raise ValueError("its history has not one loss and one time per step")
    return len(series["seconds"])


def _count(value: object) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError(f"{str(value)[:20]!r} is not a count")
    return value


def _number(value: object) -> Any:
    if type(value) not in (int, float):
        raise ValueError(f"{str(value)[:20]!r} is not a number")
    return value


def _written(record: Mapping[str, Any]) -> dict[str, Any]:
    """An evaluation as JSON values; qualities become strings, since they may be infinite or NaN."""
    written = dict(record)
    for split in ("validation", "test"):
        qualities = record.get(split)
        if qualities is None:
            continue
        written[split] = {name: repr(float(value)) for name, value in qualities.items()}
    return written


def _evaluation(record: dict[str, Any], steps: int) -> dict[str, Any]:
    _number(record["epoch"])
    _number(record["seconds"])
    if _count(record["step"]) > steps:
        raise ValueError("one of its evaluations is of a step that it has not done")
    evaluation = dict(record)
    for split in ("validation", "test"):
        qualities = record.get(split)
        if qualities is not None:
            evaluation[split] = {name: float(text) for name, text in qualities.items()}
    if evaluation["validation"] is None:
        raise ValueError("one of its evaluations has no qualities")
    return evaluation
