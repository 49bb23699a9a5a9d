"""Weights from outside: a state_dict, or a safetensors file."""

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import Deep500Error, one_line

MOST_LISTED = 40  # names in a message


def host_array(name: str, value: Any) -> np.ndarray:
    """A NumPy array of a weight: an array, a list, or a tensor of a framework."""
    for method in ("detach", "cpu"):
        if hasattr(value, method):
            value = getattr(value, method)()
    dtype = str(getattr(value, "dtype", ""))
    if dtype == "torch.bfloat16":  # NumPy has no such dtype
        value = value.float()
    try:
        array = np.asarray(value)
    except Exception as error:  # a user's object may raise anything
        message = one_line(error)
        raise Deep500Error(f"the weight {name!r} is no array: {message}") from None
    if array.dtype.kind not in "biufcV":
        type_name = type(value).__name__
        raise Deep500Error(
            f"the weight {name!r} is no array of numbers but {type_name}"
        )
    return array


def matching_weights(
    params: Mapping[str, Any], state: Mapping[str, Any], strict: bool
) -> dict[str, np.ndarray]:
    """The arrays of a state that are parameters; a Deep500Error if one of them has a wrong shape.

    With `strict`, it is also an error if names differ.
    """
    if strict:
        _check_names(params, state)
    arrays = {}
    for name, value in state.items():
        if name not in params:
            continue
        array = host_array(name, value)
        expected = params[name].shape
        if array.shape != expected:
            raise Deep500Error(
                f"the parameter {name!r} has the shape {expected}, not {array.shape}"
            )
        arrays[name] = array
    return arrays


def _check_names(params: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Raise a Deep500Error if a parameter is missing in the state, or if the state has others."""
    missing = [name for name in params if name not in state]
    if missing:
        raise Deep500Error(
            f"the weights lack {missing[0]!r} ({len(missing)} in all); they have: {listed(state)}"
        )
    unknown = [name for name in state if name not in params]
    if unknown:
        raise Deep500Error(
            f"the network has no parameter {unknown[0]!r} ({len(unknown)} in all); it has: "
            f"{listed(params)}; strict=False leaves out what does not match"
        )


def listed(names: Collection[str]) -> str:
    """Names for a message; if there are many, only the first of them."""
    first = ", ".join([*names][:MOST_LISTED])
    others = len(names) - MOST_LISTED
    if others > 0:
        return f"{first} and {others} more"
    return first


def read_weights(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The arrays of a safetensors file; no code in it is run. A Deep500Error if it cannot be read."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    if Path(path).suffix in (".pt", ".pth", ".bin", ".pkl", ".ckpt"):
        raise Deep500Error(
            f"{os.fspath(path)} may be a pickle, which can run code: load it with "
            "torch.load(path, weights_only=True) and pass that to load_state_dict"
        )
    try:
        return load_file(path)
    except (
        OSError,
        SafetensorError,
        TypeError,
        AttributeError,
        ValueError,
    ) as error:
        raise Deep500Error(
            f"cannot read weights from {os.fspath(path)}: {one_line(error)}"
        ) from None


def write_weights(
    path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray]
) -> None:
    """Write these arrays to a safetensors file, all or nothing."""
    from safetensors.numpy import save

    contiguous = {name: np.asarray(value, order="C") for name, value in arrays.items()}
    target = Path(path)
    draft = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        draft.write_bytes(save(contiguous))
        draft.replace(target)
    except OSError as error:
        raise Deep500Error(f"cannot write {os.fspath(path)}: {error}") from None
    finally:
        draft.unlink(missing_ok=True)
