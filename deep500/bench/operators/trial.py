"""A job once, before anything is timed, in a process of its own: whether it can be timed, or why not."""

from collections.abc import Callable, Mapping
from typing import Any

from ...check.operators.examples import Example
from ...check.operators.formats import is_float
from ...contracts.operator import TensorSpec
from ...errors import Deep500Error, Wrong
from ...measure.sensing import sensors
from .jobs import OperatorJob
from .subject import OperatorSubject


def attempt(
    job: Mapping[str, Any], progress: Callable[[str], None]
) -> dict[str, Any]:
    """The result of trying a job; called in a child process."""
    tried = OperatorJob(**job)
    progress(
        f"{tried.framework} {tried.kernel} {tried.shape} {tried.dtype} {tried.direction}"
    )
    return _attempt(tried)


def _attempt(job: OperatorJob) -> dict[str, Any]:
    try:
        subject = OperatorSubject(job)
        with subject.one_line(job.framework):
            work = _work(subject)
        return {
            "state": "ok",
            "kernel": subject.kernel,
            "label": subject.label,
            "truth": subject.truth_key,
            "truth_s": subject.truth_s,
            "arguments": len(subject.call.arguments),
            **work,
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
