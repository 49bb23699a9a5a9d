"""Weights that come from elsewhere: a state_dict, or a safetensors file."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import Deep500Error, one_line


def host_array(name: str, value: Any) -> np.ndarray:
    """A NumPy array of a weight: an array, a list, or a tensor of a framework."""
    for method in ("detach", "cpu"):
        value = getattr(value, method)() if hasattr(value, method) else value
    if str(getattr(value, "dtype", "")) == "torch.bfloat16":  # which NumPy does not know by itself
        value = value.float()
    try:
        array = np.asarray(value)
    except Exception as error:  # whatever a user's object raises
        raise Deep500Error(f"the weight {name!r} is no array: {one_line(error)}") from None
    if array.dtype.kind not in "biufcV":
        raise Deep500Error(f"the weight {name!r} is no array of numbers but {type(value).__name__}")
    return array


def read_weights(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The arrays of a safetensors file; nothing in it is run."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    if Path(path).suffix in (".pt", ".pth", ".bin", ".pkl", ".ckpt"):
        raise Deep500Error(
            f"{os.fspath(path)} may be a pickle, which can run code: load it with "
            "torch.load(path, weights_only=True) and pass that to load_state_dict"
        )
    try:
        return load_file(path)
    except (OSError, SafetensorError, TypeError, AttributeError, ValueError) as error:
        raise Deep500Error(
            f"cannot read weights from {os.fspath(path)}: {one_line(error)}"
        ) from None


def write_weights(path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray]) -> None:
    """A safetensors file of these arrays, whole or not at all."""
    from safetensors.numpy import save

    in_order = {name: np.asarray(value, order="C") for name, value in arrays.items()}
    target = Path(path)
    draft = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        draft.write_bytes(save(in_order))
        draft.replace(target)
    except OSError as error:
        raise Deep500Error(f"cannot write {os.fspath(path)}: {error}") from None
    finally:
        draft.unlink(missing_ok=True)
