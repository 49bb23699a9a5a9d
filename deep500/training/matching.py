"""Finds the task by its name, and matches array names between the data, the task and the network."""

import warnings
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace

from .. import registry
from ..contracts.dataset import Dataset, Split
from ..contracts.dataset_splits import complete_splits, loaded_splits
from ..contracts.executor import Executor
from ..contracts.task import Task
from ..errors import Deep500Error, Deep500Warning

Splits = Mapping[str, Split]


def named_task(task: Task | type[Task] | str | None) -> Task:
    """A task from an instance, a class or a name; classification for None."""
    if isinstance(task, Task):
        return task
    if isinstance(task, type) and issubclass(task, Task):
        return task()  # type: ignore[call-arg]
    if task is None or isinstance(task, str):
        task_class = registry.named("tasks", task or "Classification")
        return task_class()
    raise Deep500Error(f"a task is a d5.Task or the name of one, not {task!r}")


def matched_task(task: Task, executor: object) -> Task:
    """The task with the names of the network's inputs and of its only output.

    Names of inputs that differ are matched in their order.
    """
    if not isinstance(executor, Executor):
        return task
    structure = executor.structure
    task = _with_only_output(task, structure.outputs)
    inputs = _absent(structure.inputs, executor.random)
    settings = {"input": task.input}
    if "loss" in structure.outputs or task.target == task.input:
        settings["target"] = task.target
    task_names = list(dict.fromkeys(settings.values()))
    unused = _absent(inputs, task_names)
    missing = _absent(task_names, inputs)
    if not missing or len(missing) != len(unused):
        return task
    renames = dict(zip(missing, unused, strict=True))
    changes = {}
    for setting, name in settings.items():
        if name in renames:
            changes[setting] = renames[name]
    return replace(task, **changes)


def _with_only_output(task: Task, outputs: Iterable[str]) -> Task:
    """The task that reads the only output which is no loss, if there is none of the name that it reads."""
    predictions = [name for name in outputs if name != "loss"]
    if task.prediction in predictions or len(predictions) != 1:
        return task
    return replace(task, prediction=predictions[0])


def matched_splits(data: Dataset | Splits, task: Task) -> Splits:
    """The splits with their arrays renamed to what the task expects.

    Arrays are matched by name. If names are missing, the arrays that the task does not use take their places in order,
    with a warning. Splits that cannot be matched are returned unchanged; the checks of the task refuse them later.
    """
    if isinstance(data, Dataset):
        splits = loaded_splits(data)
    else:
        splits = complete_splits(data)
    if "train" not in splits:
        return splits
    specs = splits["train"].specs
    task_arrays = task.arrays()
    missing = _absent(task_arrays, specs)
    unused = _absent(specs, task_arrays)
    if not missing or len(missing) > len(unused):
        return splits
    renames = dict(zip(unused, missing, strict=False))
    for old_name, new_name in renames.items():
        if task_arrays[new_name].fault(specs[old_name]):
            return splits
    pairs = [f"{old_name!r} as {new_name!r}" for old_name, new_name in renames.items()]
    warnings.warn(
        f"the names of the data differ, so their order decides: {', '.join(pairs)}",
        Deep500Warning,
        stacklevel=3,
    )
    return {name: split.renamed(renames) for name, split in splits.items()}


def _absent(names: Iterable[str], others: Container[str]) -> list[str]:
    """The names that are not among the others, in their order."""
    return [name for name in names if name not in others]
