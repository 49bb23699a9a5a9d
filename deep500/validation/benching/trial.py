"""Every job once, before anything is timed, in a process of its own: which can be timed, and why others cannot."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...contracts.operator import TensorSpec
from ...errors import Deep500Error, Wrong
from ...measure.sensing import sensors
from ..checking.examples import Example
from ..checking.formats import is_float
from .jobs import OperatorJob
from .subject import OperatorSubject


def attempt(
    jobs: Sequence[Mapping[str, Any]], progress: Callable[[str], None]
) -> list[dict[str, Any]]:
    """The result of trying each job; called in a child process."""
    results = []
    for job in [OperatorJob(**fields) for fields in jobs]:
        facts = (job.framework, job.kernel, job.shape, job.dtype, job.direction)
        progress(" ".join(facts))
        results.append(_attempt(job))
    return results


def _attempt(job: OperatorJob) -> dict[str, Any]:
    try:
        subject = OperatorSubject(job)
        return {
            "state": "ok",
            "kernel": subject.kernel,
            "arguments": len(subject.call.arguments),
            **_work(subject),
        }
    except Wrong as error:
        return {"state": "wrong", "text": str(error)}
    except Deep500Error as error:
        return {"state": "unsupported", "text": str(error)}
    except MemoryError:
        text = f"{job.operator} {job.shape} does not fit into memory"
        return {"state": "unsupported", "text": text}


def _work(subject: OperatorSubject) -> dict[str, Any]:
    """flops and bytes as the operator counts them, and by how much the peak of memory rises in one call."""
    operator = subject.operator
    example = subject.example
    flops: int | None = operator.flops(*example.tensors)
    moved = operator.bytes_moved(*example.tensors)
    if subject.job.direction == "backward":
        # It reads the inputs and the gradients of the outputs, and writes those of the inputs.
        flops = operator.backward_flops(*example.tensors)
        moved += _gradient_bytes(example)
    with sensors() as before:
        pass
    with sensors() as during:
        results = subject.call.function(*subject.call.arguments)
    del results
    start = before.readings()["memory_current"].value
    peak = during.readings()["memory_peak"].value
    rise = None
    if start is not None and peak is not None:
        rise = max(0, int(peak - start))
    return {
        "flops": flops,
        "bytes": moved,
        "memory": rise,
        "process_memory": peak and int(peak),
    }


def _gradient_bytes(example: Example) -> int:
    """The size of the gradients of all float inputs."""
    size = 0
    for tensor, x in zip(example.tensors, example.inputs, strict=True):
        if isinstance(tensor, TensorSpec) and is_float(x):
            size += tensor.nbytes
    return size
