"""Runs every job once in a child process before anything is timed: which can be timed, which are wrong, and why."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...errors import (
    Deep500Error,
    Unsupported,
    Wrong,
    one_line,
    raise_if_mistake,
)
from ...measure.sensing import sensors
from ...validation.networks.costs import network_costs
from ...validation.networks.measured import (
    measured_inference,
    measured_training,
)
from .jobs import NetworkJob, job_from_json
from .subject import NetworkSubject


def attempt(
    jobs: Sequence[Mapping[str, Any]], progress: Callable[[str], None]
) -> list[dict[str, Any]]:
    """The state of each job and its costs, or the reason why it cannot be timed; called in a child process."""
    results = []
    for job in map(job_from_json, jobs):
        progress(
            f"{job.framework} {job.execution} {job.mode} batch {job.batch}"
        )
        results.append(_attempt(job))
    return results


def _attempt(job: NetworkJob) -> dict[str, Any]:
    try:
        subject = NetworkSubject(job)
        return {"state": "ok", "checked": subject.checked, **_work(subject)}
    except Wrong as error:
        return {"state": "wrong", "text": str(error)}
    except Deep500Error as error:
        return {"state": "unsupported", "text": str(error)}
    except MemoryError:
        return {
            "state": "unsupported",
            "text": f"{job.model} does not fit into memory",
        }
    except Exception as error:  # whatever a framework raises
        raise_if_mistake(error)
        reason = one_line(error, kind=True)
        text = f"{job.framework} cannot run {job.model}: {reason}"
        return {"state": "unsupported", "text": text}


def _work(subject: NetworkSubject) -> dict[str, Any]:
    """The predicted costs of one run, and its measured peak of memory."""
    job = subject.job
    training = subject.step is not None
    optimizer = subject.step.optimizer if subject.step else None
    costs = network_costs(
        subject.network,
        job.batch,
        sizes=subject.sizes,
        framework=subject.engine,
        optimizer=optimizer,
    )
    flops = costs.flops
    memory = costs.inference
    if training:
        flops += costs.backward_flops
        memory = costs.training or costs.inference
    measured, method = _measured_memory(subject)
    return {
        "flops": flops,
        "bytes": costs.bytes_moved,
        "parameters": costs.parameters,
        "nodes": len(costs.nodes),
        "kernels": subject.kernels,
        "predicted_memory": memory.peak,
        "measured_memory": measured,
        "memory_by": method,
    }


def _measured_memory(subject: NetworkSubject) -> tuple[int | None, str]:
    """The peak of a run in bytes, and how it was measured: by the framework's allocator, or by the process's growth."""
    engine, network, inputs = subject.engine, subject.network, subject.inputs
    execution = subject.job.execution
    try:
        if subject.step:
            optimizer = subject.step.optimizer
            peak = measured_training(
                engine, network, inputs, optimizer, execution=execution
            )
        else:
            peak = measured_inference(
                engine, network, inputs, execution=execution
            )
        return peak, "allocator"
    except Unsupported:
        return _process_growth(subject), "process"


def _process_growth(subject: NetworkSubject) -> int | None:
    """By how many bytes the process grows during a run; None if the system does not tell."""
    with sensors() as before:
        pass
    with sensors() as during:
        outputs = subject.run()
    del outputs
    start = before.readings()["memory_current"].value
    peak = during.readings()["memory_peak"].value
    if start is None or peak is None:
        return None
    return max(0, int(peak - start))
