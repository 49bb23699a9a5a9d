"""What a suite declares, for an audit: what each of its measurements declares, and where in the suite's files."""

from collections.abc import Sequence
from dataclasses import fields, replace

from ...contracts.declaration import DeclarationT, Origin
from ...contracts.dossier import Dossier, merged
from ...measure.numbers import BenchNumbers
from ..benching.bench_dossier import DERIVED, PLAN, bench_dossier
from .contents import RecordedMeasurement

SAMPLES = "samples.jsonl"


def suite_dossier(
    measurements: Sequence[tuple[RecordedMeasurement, BenchNumbers]],
) -> Dossier:
    """The declarations of all measurements."""
    dossiers = []
    for index, (measured, numbers) in enumerate(measurements):
        result = measured.result
        own = bench_dossier(result.plan, result.blocks, numbers)
        dossiers.append(_moved(own, f"measurements/{index}/numbers", measured.name))
    return merged(dossiers)


def _moved(dossier: Dossier, place: str, name: str) -> Dossier:
    """The dossier of one measurement, with the places at which the suite's files say the same."""
    whole = dossier
    for table in fields(Dossier):
        declarations = getattr(dossier, table.name)
        moved = [_declared(declaration, place, name) for declaration in declarations]
        whole = replace(whole, **{table.name: moved})
    return whole


def _declared(declaration: DeclarationT, place: str, name: str) -> DeclarationT:
    label = f"{name}: {declaration.name}" if declaration.name else name
    origin = _origin(declaration.origin, place, name)
    return replace(declaration, name=label, origin=origin)


def _origin(origin: Origin, place: str, name: str) -> Origin:
    of_plan = f"plan of {name}"
    starts = {DERIVED: (DERIVED, place), PLAN: (SAMPLES, of_plan)}
    file, start = starts.get(origin.file, (origin.file, name))
    paths = {}
    for field, path in origin.fields.items():
        other, separator, rest = path.partition(": ")
        if separator:
            other_file, other_start = starts.get(other, (other, name))
            paths[field] = f"{other_file}: {other_start}/{rest}"
        else:
            paths[field] = f"{start}/{path}"
    return Origin(file, "/".join(filter(None, [start, origin.place])), paths)
