"""A curve as TensorBoard exports it to CSV: Wall time, Step, Value."""

import csv
import io
import math
import re
from collections.abc import Mapping

from ..contracts.dossier import Dossier, ReportedNumber, Split
from ..contracts.log_format import LogFormat
from ..errors import Deep500Error, visible

HEADER = ["wall time", "step", "value"]
MOST_ROWS = 1_000_000
SPLITS: Mapping[str, Split] = {
    "train": "training",
    "training": "training",
    "val": "validation",
    "valid": "validation",
    "validation": "validation",
    "test": "test",
}


class ScalarCurve(LogFormat):
    """A curve of one run: its last value is what a reader takes from it."""

    form = "text"

    def recognises(self, content: object) -> bool:
        first = str(content)[:200].partition("\n")[0]
        return [cell.strip().lower() for cell in first.split(",")] == HEADER

    def dossier(self, content: object, file: str) -> Dossier:
        reader = csv.reader(io.StringIO(str(content)))
        next(reader)
        last = None
        points = 0
        try:
            for row in reader:
                points += 1
                if points > MOST_ROWS:
                    raise Deep500Error(f"{file} has more than {MOST_ROWS} points")
                last = float(row[2])
                if not math.isfinite(last):
                    raise ValueError(row[2])
        except (ValueError, IndexError, csv.Error):
            raise Deep500Error(
                f"{visible(file)}, line {reader.line_num}: not three numbers"
            ) from None
        name = file.removesuffix(".csv")
        return Dossier(number=[end_of_curve(name, last, file, reader.line_num)])


def end_of_curve(
    name: str, value: float | None, file: str, place: int | str
) -> ReportedNumber:
    """The last value of a curve, whose name may tell on which data it was computed."""
    words = re.split(r"[^a-z]+", name.lower())
    split = next((SPLITS[word] for word in words if word in SPLITS), None)
    number = ReportedNumber(
        name=name,
        kind="quality",
        value=value,
        n=1,
        split=split,
        summary="single value",
    )
    where = f"line {place}" if isinstance(place, int) else place
    return number.at(file, where)
