"""Checks before a run begins that data, network and task fit together."""

from collections.abc import Mapping

import numpy as np

from ..canonical import shown
from ..contracts.dataset import Split
from ..contracts.executor import Executor, Values
from ..contracts.procedure import Procedure
from ..contracts.task import Task
from ..errors import Deep500Error
from .checkpoint import Checkpoint

Splits = Mapping[str, Split]


def check_data(splits: Splits, task: Task, epochs: int, batch_size: int) -> None:
    """Raise a Deep500Error for data on which no run can begin, naming the split, the array and the first row."""
    if epochs < 1:
        raise Deep500Error(f"epochs is {epochs}: a run needs at least 1")
    for name, split in splits.items():
        if split.fault:
            raise Deep500Error(f"the split {name!r} {split.fault}")
    for name in ("train", "validation", "test"):
        has_examples = name in splits and len(splits[name]) > 0
        if not has_examples:
            sizes = [f"{other} ({len(split)})" for other, split in splits.items()]
            raise Deep500Error(
                f"the data have no split {name!r} with examples in it; there are: "
                f"{', '.join(sizes)}"
            )
    task.check_arrays(splits)
    examples = len(splits["train"])
    if batch_size > examples:
        raise Deep500Error(
            f"batch_size is {batch_size}, and there are {examples} examples to train on: give at most {examples}, "
            "which makes one batch of all"
        )


def check_network(executor: Executor, train: Split, task: Task, loss: str) -> None:
    outputs, arrays = executor.structure.outputs, train.specs
    for name in (loss, *task.reads()):
        if name not in outputs:
            raise Deep500Error(
                f"the network has no output {name!r}; its outputs are: {', '.join(outputs)}"
            )
    for name in executor.structure.inputs:
        if name not in arrays and name not in executor.random:
            raise Deep500Error(
                f"the network needs {name!r}, and the data have: {', '.join(arrays)}"
            )


def check_outputs(
    procedure: Procedure,
    splits: Splits,
    task: Task,
    outputs: Values,
    batch: Mapping[str, np.ndarray],
) -> None:
    """Raise a Deep500Error unless the data match the outputs of the network for a batch."""
    reads = task.reads()
    if not outputs.keys() >= {*reads}:
        outputs = procedure.inference(batch)
    for name in reads:
        if name not in outputs:
            present = ", ".join(outputs)
            raise Deep500Error(
                f"the task {type(task).__name__} reads {name!r}, and these come out: {present}"
            )
    array = procedure.framework.array
    arrays = {name: array(outputs[name]) for name in reads}
    task.check_data(splits, arrays)


def check_evaluate_every(steps: object) -> None:
    """Raise a Deep500Error unless this is a number of steps, or None."""
    if steps is None:
        return
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise Deep500Error(
            f"evaluate_every is {shown(steps)}: give a number of steps, at least 1"
        )


def check_epochs(start: Checkpoint, epochs: int) -> None:
    is_past_end = start.epoch == epochs and start.batch > 0
    if start.epoch > epochs or is_past_end:
        raise Deep500Error(
            f"the checkpoint has seen {start.epoch} epochs, and this run has {epochs}"
        )
