"""Look at this machine before measuring on it: the plan of the measurement of its noise, and what is installed."""

from dataclasses import asdict
from importlib import metadata
from typing import Any

from ..measure.clock import Clock
from ..measure.machine import Environment, advice
from ..measure.plan import Plan, make_plan

FRAMEWORKS = {
    "pytorch": "torch",
    "jax": "jax",
    "tensorflow": "tensorflow-cpu",
    "onnxruntime": "onnxruntime",
    "mpi": "mpi4py",
}
PROCESSES = 6
PROBE = "sum(range(30_000))"  # about half a millisecond of pure interpreter


def noise_plan(budget_s: float) -> Plan:
    """The same statement twice, as if they were two."""
    return make_plan({"a": PROBE, "b": PROBE}, budget_s=budget_s, processes=PROCESSES)


def diagnosis_document(plan: Plan, clock: Clock, surroundings: Environment) -> dict[str, Any]:
    """What is written down before the noise is measured."""
    return plan.to_json() | {
        "clock": asdict(clock),
        "installed": {name: _version(package) for name, package in FRAMEWORKS.items()},
        "advice": advice(surroundings),
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
