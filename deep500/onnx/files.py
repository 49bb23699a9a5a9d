"""Reads and writes ONNX files. A file is not trusted: no code of it is run, no file outside its folder is opened."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from ..contracts.network import Network
from ..errors import Deep500Error, one_line
from ..graph.folding import Evaluate
from .reading import network_of
from .writing import model_of

LARGEST_FILE = (1 << 31) - 1  # bytes
Source = str | os.PathLike[str] | bytes | onnx.ModelProto


def read(
    source: Source,
    evaluate: Evaluate,
    input_values: Mapping[str, np.ndarray] | None = None,
) -> Network:
    """The network in a file (its path or its bytes) or in an onnx.ModelProto.

    `evaluate` computes constant nodes. `input_values` holds inputs by name, which are used where an operator needs a
    constant.
    """
    model, folder, title = _model(source)
    _load_external_data(model, folder, title)
    return network_of(model, evaluate, title, input_values)


def write(
    network: Network, path: str | os.PathLike[str] | None = None
) -> onnx.ModelProto:
    """The network as a model, also written to `path` if there is one."""
    model = model_of(network)
    if path is None:
        return model
    try:
        content = model.SerializeToString(deterministic=True)
        Path(path).write_bytes(content)
    except (
        OSError,
        ValueError,
    ) as error:  # a ValueError: beyond protobuf's 2 GB
        raise Deep500Error(f"cannot write {os.fspath(path)}: {error}") from None
    return model


def _model(source: Source) -> tuple[onnx.ModelProto, Path | None, str]:
    """The parsed model, the folder that its external data must be in, and a title for messages."""
    if isinstance(source, onnx.ModelProto):
        return source, None, "the ONNX model"
    if isinstance(source, bytes):
        return _parsed(source, "the ONNX model"), None, "the ONNX model"
    try:
        folder = Path(source).parent
        title = os.fspath(source)
        content = _content(source)
    except TypeError:
        kind = type(source).__name__
        raise Deep500Error(
            f"a {kind} is no ONNX model: give its path, its bytes or an onnx.ModelProto; from_model of a framework "
            "takes the framework's own model"
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise Deep500Error(
            f"cannot read an ONNX model from {source!r}: {reason}"
        ) from None
    return _parsed(content, title), folder, title


def _parsed(content: bytes, title: str) -> onnx.ModelProto:
    try:
        model = onnx.ModelProto.FromString(content)
    except (DecodeError, ValueError):
        raise Deep500Error(f"{title} is not an ONNX model: it does not parse") from None
    if not model.HasField("graph"):
        raise Deep500Error(f"{title} is not an ONNX model: it has no graph")
    if not model.opset_import:
        raise Deep500Error(f"{title} is not an ONNX model: it has no opset")
    return model


def _content(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a regular file; a pipe or a device might never end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _check_regular(os.fstat(descriptor))
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(LARGEST_FILE)
    finally:
        os.close(descriptor)


def _check_regular(status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise OSError("it is a folder")
    if not stat.S_ISREG(status.st_mode):
        raise OSError("it is no regular file")
    if status.st_size > LARGEST_FILE:
        raise OSError(
            f"it has {status.st_size} bytes, and protobuf reads at most {LARGEST_FILE}"
        )


def _load_external_data(
    model: onnx.ModelProto, folder: Path | None, title: str
) -> None:
    """Load weights from files beside the model; onnx refuses paths that leave the folder, links and wrong sizes."""
    external = _external_weight(model.graph)
    if external is None:
        return
    if folder is None:
        raise Deep500Error(
            f"{title} keeps {external!r} in another file: give the path of the model, not its bytes"
        )
    try:
        onnx.load_external_data_for_model(model, str(folder))
    except (OSError, ValueError, onnx.checker.ValidationError) as error:
        reason = one_line(error, 300)
        raise Deep500Error(
            f"{title} keeps {external!r} in another file, which cannot be used: {reason}"
        ) from None


def _external_weight(graph: onnx.GraphProto) -> str | None:
    """The name of the first weight that is in another file."""
    for weight in graph.initializer:
        if weight.data_location == onnx.TensorProto.EXTERNAL:
            return weight.name
    return None
