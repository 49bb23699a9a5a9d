"""Checks as a child process runs them: from texts to reports, and arrays left in a folder for pictures."""

import ast
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...contracts.dtypes import ALL, listed
from ...contracts.operator import Operator, Tensor
from ...errors import Deep500Error, Unsupported
from ...frameworks import framework as find_framework
from . import check_operator
from .checks import Subject, fresh
from .differences import absolute
from .subjects import examples_for, named, named_function

VARIANCE_RUNS = 10


def check(
    operator: str,
    attributes: Mapping[str, Any],
    reference: str | None,
    frameworks: Sequence[str],
    dtypes: Sequence[str],
    inputs: Sequence[str] | None,
    seed: int,
    folder: str | None,
    progress: Callable[[str], None],
) -> list[dict[str, Any]]:
    """The reports of one operator on these frameworks, as JSON."""
    truth = named_function(reference) if reference else None
    subject = named(operator, attributes, function=truth is not None)
    given = None if inputs is None else [described(text) for text in inputs]
    if given is not None and isinstance(subject, type) and issubclass(subject, Operator):
        subject = named_instance(subject)
    reports = []
    for name in frameworks:
        _one_thread(name)
        reports.append(check_operator(subject, name, given, truth, seed, dtypes, progress))
        if folder and len(reports) == 1:
            progress("the runs for pictures")
            keep_arrays(
                Path(folder), examples_for(subject, given, truth, name, seed), name, dtypes[-1]
            )
    return [report.to_json() for report in reports]


def named_instance(cls: type[Operator]) -> Operator:
    try:
        return cls()
    except TypeError:
        raise Deep500Error(
            f"{cls.__name__} needs attributes: give them with --set name=value"
        ) from None


def described(text: str) -> Any:
    """4x6 or 4x6:int64 is a shape to be drawn, () a scalar; a list or a number is a value, "-" an input left out."""
    if text == "-":
        return None
    shape, _, dtype = text.partition(":")
    if (
        shape.replace("x", "").isdigit()
        and not text.startswith("x")
        and "xx" not in text
        and not shape.endswith("x")
    ):
        sizes = tuple(int(n) for n in shape.split("x"))
        if dtype and dtype not in ALL:
            raise Deep500Error(
                f"--inputs {text!r}: there is no dtype {dtype!r}; there are {listed(ALL)}"
            )
        return Tensor(sizes, dtype) if dtype and "float" not in dtype else sizes
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise Deep500Error(
            f"--inputs {text!r} is neither a shape (4x6, 4x6:int64) nor a value ([1, 2])"
        ) from None
    return value


def keep_arrays(folder: Path, examples: Sequence[Any], framework: str, dtype: str) -> None:
    """The first output of the example that is furthest off, beside the truth, and of several runs."""
    subject, worst = Subject(find_framework(framework)), -1.0
    for example in (e.cast(dtype) for e in examples):
        try:
            got, want = subject.run(example.operator, fresh(example.inputs))[0], example.outputs[0]
        except Exception:  # the report has told it already
            continue
        off = float(np.max(absolute(got, want), initial=0)) if got.shape == want.shape else np.inf
        if got.size and got.shape == want.shape and (off > worst or off != off):
            runs = [
                subject.run(example.operator, fresh(example.inputs))[0]
                for _ in range(VARIANCE_RUNS)
            ]
            np.savez(
                folder / "arrays.npz",
                got=got.astype("float64"),
                want=want.astype("float64"),
                dtype=got.dtype.name,
                name=example.name,
                runs=np.stack(runs).astype("float64"),
            )
            worst = off


def _one_thread(name: str) -> None:
    """Several threads may add in another order every time; where they are fixed already, that is how it is checked."""
    try:
        find_framework(name).set_threads(1)
    except Unsupported:
        return
