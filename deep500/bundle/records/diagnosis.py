"""Examines this machine before anything is measured on it: the plan of a noise measurement, and what is installed."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import metadata
from typing import Any

from ...errors import Deep500Error
from ...measure.clock import Clock
from ...measure.machine import Environment, advice
from ...measure.plan import Plan, make_plan

PROCESSES = 6
PROBE = "sum(range(30_000))"  # takes the interpreter about half a millisecond


def noise_plan(budget_s: float) -> Plan:
    """A plan that measures the same statement twice, as if it were two."""
    statements = {"a": PROBE, "b": PROBE}
    return make_plan(statements, budget_s=budget_s, processes=PROCESSES)


def diagnosis_document(
    plan: Plan, clock: Clock, surroundings: Environment
) -> dict[str, Any]:
    """The document that is recorded before the noise is measured."""
    return plan.to_json() | {
        "clock": asdict(clock),
        "installed": installed(),
        "devices": devices(),
        "advice": advice(surroundings),
    }


def installed() -> dict[str, str | None]:
    """The version of every framework, ours and from plug-ins, and of MPI; None if it is not installed."""
    # other measurements import this file, and they must not import a framework
    from ...frameworks import known_frameworks

    packages = metadata.packages_distributions()
    versions = {name: _framework_version(name, packages) for name in known_frameworks()}
    return versions | {"mpi": _version("mpi4py", packages)}


def devices() -> dict[str, str]:
    """Where each framework that is installed can compute on this machine."""
    from ...frameworks import available_frameworks
    from ...frameworks.device_listing import device_words

    try:
        return device_words(available_frameworks())
    except Deep500Error:  # a plug-in is broken, which `installed` tells
        return {}


def _framework_version(name: str, packages: Mapping[str, Sequence[str]]) -> str | None:
    from ...frameworks import framework

    try:
        adapter = framework(name)
        if not adapter.available():
            return None
    except Deep500Error as error:
        return str(error)
    version = _version(adapter.module_name, packages) or "of unknown version"
    if adapter.extra:
        return version
    return f"{version} ({adapter.module_name})"


def _version(module: str, packages: Mapping[str, Sequence[str]]) -> str | None:
    """The version of the package that contains a module; None if it is not installed."""
    top_level = module.partition(".")[0]
    distributions = packages.get(top_level)
    if not distributions:
        return None
    return metadata.version(distributions[0])
