"""nccl-tests: the text that all_reduce_perf and its relatives print."""

import re
from collections.abc import Iterator

from ..contracts.dossier import Dossier, ReportedNumber, SetupDescription
from ..contracts.log_format import LogFormat, limited_numbers

ROW = re.compile(
    r"\s*(\d{1,18})\s+(\d{1,18})\s+(\w+)\s+(\w+)\s+(-?\d+)\s+([\d.]{1,20})\s+([\d.]{1,20})\s+([\d.]{1,20})\s+(\S+)"
)
AVERAGE = re.compile(r"#\s*Avg bus bandwidth\s*:\s*([\d.]{1,20})")
ITERATIONS = re.compile(r"(?<!warmup )(?<!agg )iters: (\d{1,9})")
RANK = re.compile(r"#\s+Rank\s+\d+ .*?(?:\]|\))\s+(.*)")


class NcclTests(LogFormat):
    """A log of nccl-tests: means over iterations, and a mean of bandwidths over sizes."""

    form = "text"

    def recognises(self, content: object) -> bool:
        text = str(content)[:100_000]
        return "algbw" in text and "busbw" in text

    def dossier(self, content: object, file: str) -> Dossier:
        text = str(content)
        devices = RANK.findall(text)
        found = ITERATIONS.search(text)
        iterations = int(found[1]) if found else None
        rows = limited_numbers(
            _rows(text, file, max(1, len(devices)), iterations), file
        )
        average = AVERAGE.search(text)
        if average:
            number = ReportedNumber(
                name="average bus bandwidth",
                kind="rate",
                value=_float(average[1]),
                unit="GB/s",
                n=len(rows),
                summary="arithmetic mean",
                interval="not an interval",
                ranks=max(1, len(devices)),
                windows="common",
            )
            rows.append(number.at(file, "Avg bus bandwidth"))
        processor = devices[0].strip()[:100] if devices else None
        setup = SetupDescription(name="the set-up", processor=processor)
        return Dossier(number=rows, setup=[setup.at(file, "Using devices")])


def _rows(
    text: str, file: str, ranks: int, iterations: int | None
) -> Iterator[ReportedNumber]:
    for line, content in enumerate(text.splitlines(), 1):
        match = ROW.match(content[:400])
        if not match:
            continue
        number = ReportedNumber(
            name=f"{match[1]} bytes of {match[3]}",
            kind="cost",
            value=_float(match[6]),
            unit="us",
            n=iterations,
            interval="not an interval",
            summary="arithmetic mean",
            ranks=ranks,
            arrival="not known",
            checked="nothing"
            if match[9] == "N/A"
            else "the timed function, in other calls",
        )
        yield number.at(file, f"line {line}")


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
