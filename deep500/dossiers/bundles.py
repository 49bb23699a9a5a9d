"""The dossier of a bundle: what its kind declares, and what every bundle says of set-up and conduct."""

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

from ..bundle.encoding import MANIFEST
from ..bundle.records.loading import load, one_line
from ..contracts.dossier import Dossier, MeasurementConduct, SetupDescription
from ..contracts.result import Record
from ..errors import Deep500Error
from ..measure.machine import Environment
from ..reports.text import clean
from ..results.outcomes.remarks import JUDGED
from ..schema import decoded, encoded
from .devices import system_of

ENVIRONMENT = "environment.json"
_PLACES = {
    "complete": f"{MANIFEST}: finished",
    "contradictions": f"{MANIFEST}: d5 verify",
    "remarks": f"{MANIFEST}: d5 verify",
    "started_first": f"{ENVIRONMENT}: classes/benchmark input and software",
}
# our field of a class of facts: the name of the class in environment.json
CLASSES = {
    "processor": "hardware compute",
    "memory": "hardware memory",
    "network": "hardware network",
    "compiler": "software compiler",
    "runtime": "software runtime",
    "storage": "software storage",
    "inputs": "benchmark input and software",
    "measurement": "benchmark measurement setup",
    "source": "benchmark source code",
}
PACKAGE_SOURCE = "source of deep500"


def bundle_dossier(path: Path) -> Dossier:
    """Everything that the bundle at this path declares; a Deep500Error if it cannot be read."""
    return record_dossier(load(path))


def record_dossier(record: Record) -> Dossier:
    """The same of a record."""
    with one_line(f"{record.bundle} cannot be audited, see `d5 verify`"):
        dossier = checked(record.kind.dossier(record))
        about = _conduct(record)
        if not dossier.number:
            return replace(dossier, measurement=[about])
        return replace(
            dossier,
            setup=[setup_of(record)],
            measurement=_conducts(
                dossier.measurement,
                replace(about, started_first=_started_first(record)),
            ),
            system=[*dossier.system, *system_of(record)],
        )


def checked(dossier: Dossier) -> Dossier:
    """The dossier, if every field has the form that rules rely on; else a Deep500Error: a plan may say anything."""
    for table in fields(dossier):
        for declaration in getattr(dossier, table.name):
            said = {}
            for member in fields(declaration):
                value = getattr(declaration, member.name)
                if member.name != "origin" and value is not None:
                    said[member.name] = encoded(value)
            where = f"{declaration.origin.file} {declaration.origin.place}".strip()
            decoded(type(declaration), said, where)
    return dossier


def _conducts(
    measured: Sequence[MeasurementConduct], about: MeasurementConduct
) -> list[MeasurementConduct]:
    """How a single measurement went, which is the whole bundle; of several, as of a suite, the bundle comes first."""
    if len(measured) != 1:
        return [about, *measured]
    [conduct] = measured
    origin = replace(conduct.origin, fields=_PLACES | dict(conduct.origin.fields))
    whole = replace(
        conduct,
        complete=about.complete,
        contradictions=about.contradictions,
        remarks=about.remarks,
        started_first=about.started_first,
        origin=origin,
    )
    return [whole]


def _conduct(record: Record) -> MeasurementConduct:
    """Whether it is complete, and what it says against itself."""
    conduct = MeasurementConduct(
        name="the bundle",
        complete=record.finished,
        contradictions=[clean(problem) for problem in record.problems],
        # that an organiser has run it is nothing to doubt
        remarks=[
            clean(remark) for remark in record.remarks if not remark.startswith(JUDGED)
        ],
    )
    return conduct.at(MANIFEST, "", **_PLACES)


def _fact(record: Record, name: str) -> object:
    """A fact about inputs and software; None if the bundle does not have it."""
    try:
        environment = Environment.from_json(record.environment)
    except Deep500Error:
        return None
    return environment.fact(CLASSES["inputs"], name).value


def _started_first(record: Record) -> list[str] | None:
    """What ran before this package: files that Python imports by itself, such as sitecustomize."""
    fact = _fact(record, "imported before the program")
    if not isinstance(fact, list):
        return None
    return [clean(module) for module in fact]


def setup_of(record: Record) -> SetupDescription:
    """The nine classes of facts: how many of each are known, and the first of them."""

    def text(field: str) -> str | None:
        classes = record.environment.get("classes")
        facts = classes.get(CLASSES[field]) if isinstance(classes, dict) else None
        return _facts_text(facts)

    source, source_class = text("source"), CLASSES["source"]
    package = _fact(record, PACKAGE_SOURCE)
    if source is None and isinstance(package, str):
        # installed, and not run from a checkout: its own hash identifies it
        source = f"deep500, sha256 {clean(package)}"
        source_class = f"{CLASSES['inputs']}/{PACKAGE_SOURCE}"
    setup = SetupDescription(
        name="the set-up",
        processor=text("processor"),
        memory=text("memory"),
        network=text("network"),
        compiler=text("compiler"),
        runtime=text("runtime"),
        storage=text("storage"),
        # the plan names every input
        inputs=text("inputs") or "plan.json",
        measurement=text("measurement"),
        source=source,
    )
    paths = {field: f"classes/{name}" for field, name in CLASSES.items()}
    paths["source"] = f"classes/{source_class}"
    return setup.at(ENVIRONMENT, **paths)


def _facts_text(facts: object) -> str | None:
    if not isinstance(facts, dict):
        return None
    known = []
    for name, fact in facts.items():
        if isinstance(fact, dict) and fact.get("value") is not None:
            known.append(f"{clean(name)} {clean(fact['value'])}"[:60])
    if not known:
        return None
    return f"{len(known)} of {len(facts)} facts: {known[0]}"
