"""A curve as TensorBoard exports it to CSV: Wall time, Step, Value."""

import csv
import io
import math

from ..contracts.dossier import Dossier, ReportedNumber
from ..contracts.log_format import LogFormat
from ..errors import Deep500Error, visible

HEADER = ["wall time", "step", "value"]
MOST_ROWS = 1_000_000


class ScalarCurve(LogFormat):
    """A curve of one run: its last value is what a reader takes from it."""

    is_json = False

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
        number = ReportedNumber(
            name=file.removesuffix(".csv"),
            kind="quality",
            value=last,
            n=1,
            summary="single value",
        )
        return Dossier(number=[number.at(file, f"line {reader.line_num}")])
