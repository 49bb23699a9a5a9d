"""A run that goes on from a checkpoint in a new process, where nothing but the checkpoint remembers the first one."""

import inspect
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...contracts.scheme import Scheme
from ...definition import Definition
from ...errors import Deep500Error, errors_of_user_code
from ...supervision.isolation import isolated
from ...training.checkpoint import load_checkpoint, save_checkpoint
from .trials import Trials, replicas

DEADLINE = 120.0


def resumed(trials: Trials, epochs: int) -> np.ndarray | None:
    """The replicas at the end of a run that was broken off after so many epochs, and went on in a new process.

    None if a new process cannot make the same scheme.
    """
    arguments = process_arguments(trials)
    if arguments is None:
        return None
    first = trials.new_run(epochs=epochs)
    first.run()
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = str(Path(folder) / "checkpoint.safetensors")
        save_checkpoint(checkpoint, first.checkpoint())
        arguments["checkpoint"] = checkpoint
        rows = isolated(f"{__name__}:go_on", arguments, DEADLINE)
    return None if rows is None else np.array(rows, np.float64)


def process_arguments(trials: Trials) -> dict[str, Any] | None:
    """What a new process needs to make the same trials; None if it cannot make the scheme."""
    text = scheme_text(trials.scheme)
    if text is None:
        return None
    return {
        "text": text,
        "name": str(trials.scheme),
        "import_path": sys.path,
        "ranks": trials.ranks,
        "engine": trials.engine,
        "seed": trials.seed,
    }


def go_on(
    text: str,
    name: str,
    import_path: list[str],
    ranks: int,
    engine: str,
    seed: int,
    checkpoint: str,
    progress: Callable[[str], None],
) -> list[list[float]] | None:
    """In the new process: the rest of the run; None if the text does not give the scheme of this name."""
    sys.path[:] = import_path
    scheme = scheme_in_new_process(text, name)
    if scheme is None:
        return None
    progress("going on from a checkpoint")
    run = Trials(scheme, ranks, engine, seed).new_run()
    with errors_of_user_code("the run"):
        run.run(load_checkpoint(checkpoint))
    return replicas(run).tolist()


def scheme_in_new_process(text: str, name: str) -> Scheme | None:
    """The scheme that a text describes; None if it is not the one of this name."""
    from .loading import load_scheme  # which imports this file

    try:
        scheme = load_scheme(text)
    except Deep500Error:  # its file may need what only the first process has
        return None
    if type(scheme).__name__ != name.partition("(")[0]:
        return None
    return scheme


def scheme_text(scheme: Scheme) -> str | None:
    """The scheme as a text that another process can read; None for a class of a script or of a function."""
    optimizer_class = scheme.settings.get("optimizer_class")
    if optimizer_class is not None:
        return _class_text(optimizer_class)
    return _definition_text(scheme)


def _definition_text(value: Any) -> str | None:
    if not isinstance(value, Definition):
        return repr(value)
    name = _class_text(type(value))
    settings = []
    for key, setting in value.settings.items():
        text = _definition_text(setting)
        if text is None:
            return None
        settings.append(f"{key}={text}")
    return name and f"{name}({', '.join(settings)})"


def _class_text(cls: type) -> str | None:
    """The name of a class of ours; of any other its file and name."""
    package = __name__.partition(".")[0]
    if cls.__module__.startswith(f"{package}."):
        return cls.__name__
    is_importable = cls.__module__ != "__main__" and "." not in cls.__qualname__
    try:
        file = inspect.getsourcefile(cls)
    except (OSError, TypeError):
        return None
    if not is_importable or file is None or '"' in file:
        return None
    return f'"{file}":{cls.__name__}'
