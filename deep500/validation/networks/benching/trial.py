"""Every job once, before anything is timed, in a process of its own: which can be timed, which are wrong, and why."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ....errors import Deep500Error, Unsupported, Wrong, one_line
from ....measure.sensing import sensors
from ..costs import network_costs
from ..measured import measured_inference, measured_training
from .jobs import Job, job_from_json
from .subject import Subject


def attempt(
    jobs: Sequence[Mapping[str, Any]], progress: Callable[[str], None]
) -> list[dict[str, Any]]:
    """What came of each job; called in a child process."""
    found = []
    for job in map(job_from_json, jobs):
        progress(f"{job.framework} {job.way} {job.mode} batch {job.batch}")
        found.append(_attempt(job))
    return found


def _attempt(job: Job) -> dict[str, Any]:
    try:
        subject = Subject(job)
        return {"state": "ok", "checked": subject.checked, **_work(subject)}
    except Wrong as error:
        return {"state": "wrong", "text": str(error)}
    except Deep500Error as error:
        return {"state": "unsupported", "text": str(error)}
    except MemoryError:
        return {"state": "unsupported", "text": f"{job.model} does not fit into memory"}
    except Exception as error:  # whatever an engine says
        text = f"{job.framework} cannot run {job.model}: {one_line(error, kind=True)}"
        return {"state": "unsupported", "text": text}


def _work(subject: Subject) -> dict[str, Any]:
    """What one run costs as predicted, and the peak of memory as measured."""
    job, training = subject.job, subject.step is not None
    optimizer = subject.step.optimizer if subject.step else None
    costs = network_costs(
        subject.network,
        job.batch,
        sizes=subject.sizes,
        framework=subject.engine,
        optimizer=optimizer,
    )
    memory = costs.training if training and costs.training else costs.inference
    backward = costs.backward_flops if training else 0
    measured, how = _measured(subject)
    return {
        "flops": costs.flops + backward,
        "bytes": costs.bytes_moved,
        "parameters": costs.parameters,
        "nodes": len(costs.nodes),
        "kernels": subject.kernels,
        "predicted_memory": memory.peak,
        "measured_memory": measured,
        "memory_by": how,
    }


def _measured(subject: Subject) -> tuple[int | None, str]:
    """Bytes that the allocator hands out where the framework tells; else by how much the process grows in a run."""
    engine, network, compile = subject.engine, subject.network, subject.job.compile
    try:
        if subject.step:
            optimizer = subject.step.optimizer
            found = measured_training(
                engine, network, subject.inputs, optimizer, compile=compile
            )
        else:
            found = measured_inference(engine, network, subject.inputs, compile=compile)
        return found, "allocator"
    except Unsupported:
        return _grown(subject), "process"


def _grown(subject: Subject) -> int | None:
    with sensors() as before:
        pass
    with sensors() as during:
        kept = subject.run()
    del kept
    start = before.readings()["memory_current"].value
    peak = during.readings()["memory_peak"].value
    return None if start is None or peak is None else max(0, int(peak - start))
