"""What a machine is called on a board, and the versions of the software of a result."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import Deep500Error
from ..hashing.canonical_form import form_hash
from ..measure.machine import Environment
from ..reports.text import clean, shortened

# what makes two machines one class: results on one are results on the other
FACTS = ("cpu model", "logical cpus", "physical cores", "accelerators")
COMPUTE = "hardware compute"
UNKNOWN = "unknown"
LONGEST_NAME = 80
# besides Deep500 itself and Python: the package of the framework that a result names
PACKAGES = {
    "pytorch": "torch",
    "jax": "jax",
    "tensorflow": "tensorflow-cpu",
    "onnxruntime": "onnxruntime",
    "reference": "numpy",
}


@dataclass(frozen=True)
class MachineClass:
    """Machines with the same processors and accelerators."""

    key: str
    name: str


def environment_of(document: Mapping[str, Any]) -> Environment:
    """The environment of a bundle; without any facts if it has none that can be read."""
    try:
        return Environment.from_json(document)
    except Deep500Error:
        return Environment({})


def machine_class(environment: Environment) -> MachineClass:
    facts = {name: environment.fact(COMPUTE, name).value for name in FACTS}
    model = clean(facts["cpu model"] or UNKNOWN)
    cpus = facts["logical cpus"]
    name = f"{model}, {cpus} CPUs" if cpus else model
    accelerators = facts["accelerators"]
    if isinstance(accelerators, list) and accelerators:
        name += f", {clean('; '.join(map(str, accelerators)))}"
    return MachineClass(form_hash(facts)[:8], shortened(name, LONGEST_NAME))


def versions(environment: Environment, named: Mapping[str, str]) -> dict[str, str]:
    """The versions of Deep500, the framework and Python, as far as they are known."""
    runtime, software = "software runtime", "benchmark input and software"
    facts = {
        "deep500": environment.fact(software, "package deep500-bench"),
        "python": environment.fact(runtime, "python"),
    }
    framework = named.get("framework", "")
    package = PACKAGES.get(framework)
    if package:
        facts[framework] = environment.fact(runtime, f"package {package}")
    known = {}
    for name, fact in facts.items():
        if fact.value is not None:
            known[name] = clean(fact.value)
    return known
