"""Which array of the data is which of those that a task and a network ask for."""

import warnings
from collections.abc import Mapping
from dataclasses import replace

from ..contracts.dataset import Dataset, Split
from ..contracts.executor import Executor
from ..contracts.task import Task

Splits = Mapping[str, Split]


def matched_task(task: Task, executor: object) -> Task:
    """The task with the names that the network's inputs have; by order, where they differ."""
    if not isinstance(executor, Executor):
        return task
    inputs = [name for name in executor.structure.inputs if name not in executor.random]
    settings = {"input": task.input}
    if "loss" in executor.structure.outputs or task.target == task.input:
        settings["target"] = task.target
    unused = [name for name in inputs if name not in settings.values()]
    missing = [name for name in dict.fromkeys(settings.values()) if name not in inputs]
    if not missing or len(missing) != len(unused):
        return task
    names = dict(zip(missing, unused, strict=True))
    changes = {key: names[name] for key, name in settings.items() if name in names}
    return replace(task, **changes)


def matched_splits(data: Dataset | Splits, task: Task) -> Splits:
    """The splits with the names that the task has.

    Arrays are matched by name. Names that are missing are taken, in their order, from the arrays that nobody asks for:
    a warning says so. Splits that cannot be matched stay as they are, for the checks of the task to refuse.
    """
    splits = data.load() if isinstance(data, Dataset) else data
    if "train" not in splits:
        return splits
    specs = splits["train"].specs
    wanted = task.arrays()
    missing = [name for name in wanted if name not in specs]
    unused = [name for name in specs if name not in wanted]
    if not missing or len(missing) > len(unused):
        return splits
    names = dict(zip(unused, missing, strict=False))
    if any(wanted[new].fault(specs[old]) for old, new in names.items()):
        return splits
    pairs = ", ".join(f"{old!r} as {new!r}" for old, new in names.items())
    warnings.warn(
        f"the names of the data differ, so their order decides: {pairs}", stacklevel=3
    )
    return {name: split.renamed(names) for name, split in splits.items()}
