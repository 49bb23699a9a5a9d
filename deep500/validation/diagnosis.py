"""Look at this machine before measuring on it: the plan of the measurement of its noise, and what is installed."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import metadata
from typing import Any

from ..errors import Deep500Error
from ..measure.clock import Clock
from ..measure.machine import Environment, advice
from ..measure.plan import Plan, make_plan

PROCESSES = 6
PROBE = "sum(range(30_000))"  # about half a millisecond of pure interpreter


def noise_plan(budget_s: float) -> Plan:
    """The same statement twice, as if they were two."""
    return make_plan({"a": PROBE, "b": PROBE}, budget_s=budget_s, processes=PROCESSES)


def diagnosis_document(
    plan: Plan, clock: Clock, surroundings: Environment
) -> dict[str, Any]:
    """What is written down before the noise is measured."""
    return plan.to_json() | {
        "clock": asdict(clock),
        "installed": installed(),
        "advice": advice(surroundings),
    }


def installed() -> dict[str, str | None]:
    """The version of every framework, ours and from outside, and of MPI; None where it is not installed."""
    from ..frameworks import (
        known_frameworks,
    )  # other measurements import this file, and no framework

    packages = metadata.packages_distributions()
    versions = {name: _framework_version(name, packages) for name in known_frameworks()}
    return versions | {"mpi": _version("mpi4py", packages)}


def _framework_version(name: str, packages: Mapping[str, Sequence[str]]) -> str | None:
    from ..frameworks import framework

    try:
        adapter = framework(name)
        if not adapter.available():
            return None
    except Deep500Error as error:
        return str(error)
    version = _version(adapter.module_name, packages) or "of unknown version"
    return version if adapter.extra else f"{version} ({adapter.module_name})"


def _version(module: str, packages: Mapping[str, Sequence[str]]) -> str | None:
    """The version of the package that a module comes with."""
    distributions = packages.get(module.partition(".")[0])
    return metadata.version(distributions[0]) if distributions else None
