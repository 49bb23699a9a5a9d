"""Every job once, before anything is timed, in a process of its own: which can be timed, which are wrong, and why."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...contracts.operator import Tensor
from ...errors import Deep500Error, Wrong
from ...measure.sensing import sensors
from ..checking.formats import is_float
from .jobs import Job
from .subject import Subject


def attempt(
    jobs: Sequence[Mapping[str, Any]], progress: Callable[[str], None]
) -> list[dict[str, Any]]:
    """What came of each job; called in a child process."""
    found = []
    for job in [Job(**fields) for fields in jobs]:
        progress(
            f"{job.framework} {job.kernel} {job.shape} {job.dtype} {job.direction}"
        )
        found.append(_attempt(job))
    return found


def _attempt(job: Job) -> dict[str, Any]:
    try:
        subject = Subject(job)
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
        return {
            "state": "unsupported",
            "text": f"{job.operator} {job.shape} does not fit into memory",
        }


def _work(subject: Subject) -> dict[str, Any]:
    """flops and bytes as the operator counts them, and by how much the peak of memory rises in one call."""
    operator, tensors = subject.operator, subject.example.tensors
    flops: int | None = operator.flops(*tensors)
    moved = operator.bytes_moved(*tensors)
    if (
        subject.job.direction == "backward"
    ):  # reads the inputs and the outputs' gradients, writes the inputs'
        flops = operator.backward_flops(*tensors)
        moved += sum(
            t.nbytes
            for t, x in zip(tensors, subject.example.inputs, strict=True)
            if isinstance(t, Tensor) and is_float(x)
        )
    with sensors() as before:
        pass
    with sensors() as during:
        kept = subject.call.function(*subject.call.arguments)
    del kept
    start, peak = (
        before.readings()["memory_current"].value,
        during.readings()["memory_peak"].value,
    )
    rise = None if start is None or peak is None else max(0, int(peak - start))
    return {
        "flops": flops,
        "bytes": moved,
        "memory": rise,
        "process_memory": peak and int(peak),
    }
