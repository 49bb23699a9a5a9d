"""A checkpoint: all that a training run needs to go on as if it had never stopped, in one safetensors file.

It has sections by name ("parameters", "optimizer", "sampler" …), each with the state of one thing: NumPy arrays, which
become tensors named "section/name", and JSON values, which are kept in the metadata with the history.
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
HISTORY = "history"  # the section of the series
Arrays = dict[str, np.ndarray]
Sections = dict[str, dict[str, Any]]  # by name, arrays and JSON values by name


@dataclass(frozen=True)
class Checkpoint:
    """Where a run is: `batch` batches of epoch `epoch` (from 0) are done, and `history` is what it has left behind."""

    sections: Sections
    epoch: int
    batch: int
    history: History


def save_checkpoint(path: str | Path, checkpoint: Checkpoint) -> None:
    """Write to a temporary name and rename: whoever reads finds the old file or the new one, never half of one."""
    path, history = Path(path), checkpoint.history
    tensors: Arrays = {}
    values: Sections = {}
    for section, state in checkpoint.sections.items():
        _check_section_name(section)
        arrays = {
            name: value
            for name, value in state.items()
            if isinstance(value, np.ndarray)
        }
        tensors |= {f"{section}/{name}": value for name, value in arrays.items()}
        values[section] = {name: state[name] for name in state if name not in arrays}
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
    }
    # safetensors copies memory as it lies, so that it must lie in order
    in_order = {name: np.asarray(value, order="C") for name, value in tensors.items()}
    _write_whole(path, save(in_order, {"deep500": canonical(about).decode()}))


def load_checkpoint(path: str | Path) -> Checkpoint:
    """Read a checkpoint; a file that is not a whole one is refused. Nothing in it is ever run."""
    try:
        with safe_open(path, framework="numpy") as file:
            text = (file.metadata() or {})["deep500"]
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it has no __iter__)
        return _checkpoint(tensors, parse(text.encode()))
    except FileNotFoundError:
        raise Deep500Error(f"there is no checkpoint {path}") from None
    # safetensors passes NumPy's TypeError or AttributeError on for a dtype that NumPy does not have
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


def check_fit(section: str, state: State, own: State) -> None:
    """A Deep500Error unless both have the same names, and arrays of the same shapes and dtypes."""
    problem = (
        f"the checkpoint is of another network or optimizer: {section} {{!r}} {{}}"
    )
    for name in own:
        if name not in state:
            raise Deep500Error(problem.format(name, "is not in the checkpoint"))
    for name, value in state.items():
        if name not in own:
            raise Deep500Error(problem.format(name, "is in the checkpoint only"))
        saved, wanted = _kind(value), _kind(own[name])
        if saved != wanted:
            raise Deep500Error(
                problem.format(name, f"is {saved} in it, and {wanted} here")
            )


def _kind(value: Any) -> str:
    is_array = isinstance(value, np.ndarray | np.generic)
    return f"{value.dtype}{list(value.shape)}" if is_array else type(value).__name__


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
    """The parts of a file, each shown to be what it should; ValueError (or KeyError, TypeError) else."""
    if about["format"] != FORMAT:
        raise ValueError(
            f"its format is {str(about['format'])[:20]}, and {FORMAT} is what can be read"
        )
    sections: Sections = {
        name: dict(values) for name, values in about["sections"].items()
    }
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
    history = History(
        _count(about["seed"]),
        series,
        {name: _number(value) for name, value in about["counters"].items()},
        [_evaluation(record, steps) for record in about["evaluations"]],
    )
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
    """An evaluation as JSON; qualities are texts, since one may be infinite or not a number."""
    written = dict(record)
    for split in ("validation", "test"):
        if record[split] is not None:
            written[split] = {
                name: repr(float(value)) for name, value in record[split].items()
            }
    return written


def _evaluation(record: dict[str, Any], steps: int) -> dict[str, Any]:
    _number(record["epoch"]), _number(record["seconds"])
    if _count(record["step"]) > steps:
        raise ValueError("one of its evaluations is of a step that it has not done")
    evaluation = dict(record)
    for split in ("validation", "test"):
        if record[split] is not None:
            evaluation[split] = {
                name: float(text) for name, text in record[split].items()
            }
    if evaluation["validation"] is None:
        raise ValueError("one of its evaluations has no qualities")
    return evaluation
