"""Reference convergence points of MLPerf Training: the files `rcps_*.json` of its RCP checker."""

from collections.abc import Mapping
from dataclasses import dataclass

from ..contracts.dossier import ConvergenceRecord, Dossier
from ..contracts.log_format import LogFormat
from ..errors import Deep500Error
from .mlperf import IN_SAMPLES, dropped, is_number

NEEDED = ("Epochs to converge", "samples to converge")


@dataclass(frozen=True)
class _Point:
    benchmark: str
    batch: int
    needed: list[float]


class MlperfReference(LogFormat):
    """What the reference needs to converge, by batch size. Audit it together with the logs of a submission."""

    def recognises(self, content: object) -> bool:
        if not isinstance(content, dict) or not content:
            return False
        return all(
            isinstance(point, dict) and {"Benchmark", "BS"} <= set(point)
            for point in content.values()
        )

    def dossier(self, content: object, file: str) -> Dossier:
        assert isinstance(content, dict)
        records = []
        for name, document in content.items():
            point = _point(document, f"{file}: {name}")
            record = ConvergenceRecord(
                name=name,
                subject=point.benchmark,
                role="reference",
                global_batch=point.batch,
                unit="samples" if point.benchmark in IN_SAMPLES else "epochs",
                needed=point.needed,
                dropped=dropped(point.benchmark),
            )
            records.append(record.at(file, name))
        return Dossier(convergence=records)


def _point(document: Mapping[str, object], where: str) -> _Point:
    benchmark, batch = document["Benchmark"], document["BS"]
    needed = next((document[key] for key in NEEDED if key in document), None)
    is_batch = isinstance(batch, int) and is_number(batch) and batch >= 1
    if not isinstance(benchmark, str) or not is_batch:
        raise Deep500Error(f"{where}: Benchmark and BS are a name and a batch size")
    if not isinstance(needed, list) or not all(map(is_number, needed)):
        raise Deep500Error(f"{where}: {NEEDED[0]!r} is a list of numbers, one per run")
    assert isinstance(batch, int)
    return _Point(benchmark, batch, [float(value) for value in needed])
