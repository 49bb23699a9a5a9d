"""What is refused before a run begins: data, network and task that do not go together."""

from collections.abc import Mapping

import numpy as np

from ..contracts.dataset import Split
from ..contracts.executor import Executor, Values
from ..contracts.procedure import Procedure
from ..contracts.task import Task
from ..errors import Deep500Error
from .checkpoint import Checkpoint

Splits = Mapping[str, Split]


def check_data(splits: Splits, task: Task, epochs: int) -> None:
    if epochs < 1:
        raise Deep500Error(f"epochs is {epochs}: a run needs at least 1")
    for name in ("train", "validation", "test"):
        if name not in splits or not len(splits[name]):
            raise Deep500Error(
                f"the data have no split {name!r} with examples in it; there are: "
                f"{', '.join(f'{k} ({len(v)})' for k, v in splits.items())}"
            )
    task.check_arrays(splits)


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
    """Whether the data go with what the network gives for a batch."""
    reads = task.reads()
    if not outputs.keys() >= {*reads}:
        outputs = procedure.inference(batch)
    if missing := [name for name in reads if name not in outputs]:
        raise Deep500Error(
            f"the task {type(task).__name__} reads {missing[0]!r}, and these come out: "
            f"{', '.join(outputs)}"
        )
    array = procedure.framework.array
    task.check_data(splits, {name: array(outputs[name]) for name in reads})


def check_epochs(start: Checkpoint, epochs: int) -> None:
    if start.epoch > epochs or (start.epoch == epochs and start.batch):
        raise Deep500Error(
            f"the checkpoint has seen {start.epoch} epochs, and this run has {epochs}"
        )
