"""Checks as a child process runs them: from texts to reports, and arrays left in a folder for pictures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...contracts.operator import Operator
from ...errors import Deep500Error, Unsupported
from ...frameworks import framework as find_framework
from ..shapes import inputs_of
from . import check_examples
from .checks import Subject, fresh
from .differences import absolute
from .examples import Example, Reference
from .subjects import as_operator, examples_for, named, named_function

VARIANCE_RUNS = 10


def check(
    operator: str,
    attributes: Mapping[str, Any],
    reference: str | None,
    frameworks: Sequence[str],
    dtypes: Sequence[str],
    shapes: Sequence[str],
    seed: int,
    folder: str | None,
    progress: Callable[[str], None],
) -> list[dict[str, Any]]:
    """The reports of one operator on these frameworks, as JSON."""
    truth = named_function(reference) if reference else None
    subject = named(operator, attributes, function=truth is not None)
    if shapes and isinstance(subject, type) and issubclass(subject, Operator):
        subject = named_instance(subject)
    reports = []
    for name in frameworks:
        _one_thread(name)
        examples = _examples(subject, shapes, truth, name, seed)
        reports.append(check_examples(examples, name, dtypes, progress))
        if folder and len(reports) == 1:
            progress("the runs for pictures")
            keep_arrays(Path(folder), examples, name, dtypes[-1])
    return [report.to_json() for report in reports]


def _examples(
    subject: Any, shapes: Sequence[str], truth: Reference | None, framework: str, seed: int
) -> list[Example]:
    """One example for each shape; without any, what the operator's own cases give."""
    if not shapes:
        return examples_for(subject, None, truth, framework, seed)
    operator = as_operator(subject, truth, framework)
    examples = []
    for i, shape in enumerate(shapes):
        inputs = inputs_of(operator, shape, "float32", seed)
        [example] = examples_for(operator, inputs, truth, framework, seed)
        examples.append(replace(example, name=f"{type(operator).__name__}-{i}"))
    return examples


def named_instance(cls: type[Operator]) -> Operator:
    try:
        return cls()
    except TypeError:
        raise Deep500Error(
            f"{cls.__name__} needs attributes: give them with --set name=value"
        ) from None


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
