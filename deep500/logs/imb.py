"""Intel MPI Benchmarks: the text that IMB-MPI1 prints."""

import re
from collections.abc import Iterator

from ..contracts.dossier import Dossier, ReportedNumber
from ..contracts.log_format import LogFormat, limited_numbers

BENCHMARK = re.compile(r"#\s*Benchmarking (\w+)")
PROCESSES = re.compile(r"#\s*#processes = (\d{1,9})")
ROW = re.compile(r"\s*(\d{1,18})\s+(\d{1,12})\s+([\d.]{1,20})(.*)")


class Imb(LogFormat):
    """A log of the Intel MPI Benchmarks: means of the repetitions, as minimum, maximum and mean over the processes."""

    form = "text"

    def recognises(self, content: object) -> bool:
        text = str(content)[:100_000]
        return "#repetitions" in text and "# Benchmarking" in text

    def dossier(self, content: object, file: str) -> Dossier:
        return Dossier(number=limited_numbers(_numbers(str(content), file), file))


def _numbers(text: str, file: str) -> Iterator[ReportedNumber]:
    benchmark, ranks, all_ranks = "", 1, False
    for line, content in enumerate(text.splitlines(), 1):
        short = content[:400]
        if match := BENCHMARK.match(short):
            benchmark = match[1]
        elif match := PROCESSES.match(short):
            ranks = int(match[1])
        elif "#repetitions" in short:
            all_ranks = "t_max" in short
        elif benchmark and (match := ROW.match(short)):
            yield _number(match, benchmark, ranks, all_ranks).at(file, f"line {line}")


def _number(
    match: re.Match[str], benchmark: str, ranks: int, all_ranks: bool
) -> ReportedNumber:
    columns = match[4].split()
    text = columns[0] if all_ranks and columns else match[3]
    try:
        value: float | None = float(text)
    except ValueError:
        value = None
    across = "maximum; minimum and mean beside it" if all_ranks else None
    return ReportedNumber(
        name=f"{benchmark} of {match[1]} bytes",
        kind="cost",
        value=value,
        unit="us",
        n=int(match[2]),
        interval="not an interval",
        summary="arithmetic mean",
        ranks=ranks,
        across_ranks=across,
        arrival="not known",
    )
