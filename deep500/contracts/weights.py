"""Weights that come from elsewhere: a state_dict, or a safetensors file."""

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
        value = getattr(value, method)() if hasattr(value, method) else value
    if (
        str(getattr(value, "dtype", "")) == "torch.bfloat16"
    ):  # which NumPy does not know by itself
        value = value.float()
    try:
        array = np.asarray(value)
    except Exception as error:  # whatever a user's object raises
        raise Deep500Error(
            f"the weight {name!r} is no array: {one_line(error)}"
        ) from None
    if array.dtype.kind not in "biufcV":
        raise Deep500Error(
            f"the weight {name!r} is no array of numbers but {type(value).__name__}"
        )
    return array


def matching_weights(
    params: Mapping[str, Any], state: Mapping[str, Any], strict: bool
) -> dict[str, np.ndarray]:
    """The arrays of a state that are parameters; all of them have the right shapes, or it is refused."""
    missing = [name for name in params if name not in state]
    unknown = [name for name in state if name not in params]
    if strict and missing:
        raise Deep500Error(
            f"the weights lack {missing[0]!r} ({len(missing)} in all); they have: {listed(state)}"
        )
    if strict and unknown:
        raise Deep500Error(
            f"the network has no parameter {unknown[0]!r} ({len(unknown)} in all); it has: "
            f"{listed(params)}; strict=False leaves out what does not match"
        )
    arrays = {}
    for name, value in state.items():
        if name not in params:
            continue
        arrays[name] = host_array(name, value)
        if arrays[name].shape != params[name].shape:
            raise Deep500Error(
                f"the parameter {name!r} has the shape {params[name].shape}, not {arrays[name].shape}"
            )
    return arrays


def listed(names: Collection[str]) -> str:
    """Names for a message, the first of them if there are many."""
    first = [*names][:MOST_LISTED]
    rest = len(names) - len(first)
    more = f" and {rest} more" if rest else ""
    return ", ".join(first) + more


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


def write_weights(
    path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray]
) -> None:
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
