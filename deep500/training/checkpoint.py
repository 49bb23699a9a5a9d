"""A checkpoint: all that a training run needs to go on as if it had never stopped, in one safetensors file."""

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
from ..errors import Deep500Error

FORMAT = 1
PARAMETER, STATE, LOSSES, SECONDS = (
    "parameter/",
    "optimizer/",
    "history/losses",
    "history/step_seconds",
)
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Checkpoint:
    """Where a run is: `batch` batches of epoch `epoch` (from 0) are done, and `history` is what it has left behind."""

    params: Arrays
    state: Arrays  # of the optimizer
    sampler: str  # which decided the order of the data, and must go on doing so
    epoch: int
    batch: int
    history: History


def save_checkpoint(path: str | Path, checkpoint: Checkpoint) -> None:
    """Write to a temporary name and rename: whoever reads finds the old file or the new one, never half of one."""
    path, history = Path(path), checkpoint.history
    tensors = {PARAMETER + name: value for name, value in checkpoint.params.items()}
    tensors |= {STATE + name: value for name, value in checkpoint.state.items()}
    tensors |= {
        LOSSES: np.array(history.losses, np.float64),
        SECONDS: np.array(history.step_seconds, np.float64),
    }
    about = {
        "format": FORMAT,
        "sampler": checkpoint.sampler,
        "epoch": checkpoint.epoch,
        "batch": checkpoint.batch,
        "seed": history.seed,
        "samples": history.samples,
        "evaluations": history.evaluations,
    }
    # safetensors copies memory as it lies, so that it must lie in order
    data = save(
        {name: np.asarray(value, order="C") for name, value in tensors.items()},
        {"deep500": canonical(about).decode()},
    )
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
        raise Deep500Error(f"{path} is not a checkpoint of Deep500: {ascii_line(error)}") from None


def check_fit(what: str, given: Mapping[str, np.ndarray], wanted: Mapping[str, np.ndarray]) -> None:
    """A Deep500Error unless both have the same names, shapes and dtypes."""
    if odd := sorted(given.keys() ^ wanted.keys()):
        where = "is in the checkpoint only" if odd[0] in given else "is not in the checkpoint"
        raise Deep500Error(
            f"the checkpoint is of another network or optimizer: {what} {odd[0]!r} {where}"
        )
    for name, value in given.items():
        have, want = (f"{a.dtype}{list(a.shape)}" for a in (value, wanted[name]))
        if have != want:
            raise Deep500Error(
                f"the checkpoint is of another network or optimizer: {what} {name!r} is {have} in it, "
                f"and {want} here"
            )


def _checkpoint(tensors: Arrays, about: Any) -> Checkpoint:
    """The parts of a file, each shown to be what it should; ValueError (or KeyError, TypeError) else."""
    if about["format"] != FORMAT:
        raise ValueError(
            f"its format is {str(about['format'])[:20]}, and {FORMAT} is what can be read"
        )
    losses, seconds = tensors.pop(LOSSES), tensors.pop(SECONDS)
    if (
        losses.ndim != 1
        or losses.shape != seconds.shape
        or {losses.dtype, seconds.dtype} != {np.dtype(np.float64)}
    ):
        raise ValueError("its history has not one loss and one time per step")
    epoch, batch, seed, samples = (
        _count(about[key]) for key in ("epoch", "batch", "seed", "samples")
    )
    if epoch + batch > len(losses):
        raise ValueError(
            f"it says {len(losses)} steps and epoch {epoch}, batch {batch}, which do not go together"
        )
    params, state = (
        {
            name.removeprefix(prefix): value
            for name, value in tensors.items()
            if name.startswith(prefix)
        }
        for prefix in (PARAMETER, STATE)
    )
    if len(params) + len(state) < len(tensors):
        raise ValueError("it holds a tensor that is neither a parameter nor of the optimizer")
    history = History(
        seed,
        len(losses),
        losses.tolist(),
        seconds.tolist(),
        [_evaluation(record, len(losses)) for record in about["evaluations"]],
        samples,
    )
    return Checkpoint(params, state, str(about["sampler"]), epoch, batch, history)


def _count(value: object) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError(f"{str(value)[:20]!r} is not a count")
    return value


def _evaluation(record: dict[str, Any], steps: int) -> dict[str, Any]:
    numbers = [record["epoch"], record["step"], record["seconds"], record["validation"]]
    if any(type(value) not in (int, float) for value in numbers) or _count(record["step"]) > steps:
        raise ValueError("one of its evaluations is not one")
    return record
