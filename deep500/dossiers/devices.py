"""The launch years of processors and accelerators, by the names under which drivers and systems report them."""

import re
from collections.abc import Sequence

from ..contracts.dossier import SystemDescription
from ..contracts.result import Record
from ..errors import Deep500Error
from ..measure.machine import Environment

COMPUTE = "hardware compute"
# a pattern of the name, and the year; the first that matches counts
YEARS: Sequence[tuple[str, int]] = (
    (r"K20|K10\b", 2012),
    (r"K40", 2013),
    (r"K80|Maxwell|M40", 2014),
    (r"P100|GTX 10\d0", 2016),
    (r"V100|Titan V", 2017),
    (r"\bT4\b|RTX 20\d0", 2018),
    (r"A100|RTX 30\d0|A30\b", 2020),
    (r"H100|RTX 40\d0|\bL40", 2022),
    (r"H200|GH200", 2023),
    (r"B200|GB200|RTX 50\d0", 2024),
    (r"B300", 2025),
    (r"MI50|MI60", 2018),
    (r"MI100", 2020),
    (r"MI2\d0", 2021),
    (r"MI300", 2023),
    (r"MI35\d", 2025),
    (r"TPU ?v2", 2017),
    (r"TPU ?v3", 2018),
    (r"TPU ?v4", 2020),
    (r"TPU ?v5", 2023),
    (r"EPYC 7\d\d1", 2017),
    (r"EPYC 7\d\d2", 2019),
    (r"EPYC 7\d\d3", 2021),
    (r"EPYC 9\d\d4", 2022),
    (r"EPYC 9\d\d5", 2024),
    (r"8086", 1978),
    (r"Xeon.*E5-\d+ v4", 2016),
    (r"Xeon.*E5-\d+ v3", 2014),
    (r"Xeon.*E5-\d+ v2", 2013),
    (r"Xeon.*E5-", 2012),
    (r"Xeon.*\b\d1\d\d\b", 2017),
    (r"Xeon.*\b\d2\d\d\b", 2019),
    (r"Xeon.*\b\d3\d\d\b", 2021),
    (r"Xeon.*\b\d4\d\d", 2023),
    (r"Apple M1", 2020),
    (r"Apple M2", 2022),
    (r"Apple M3", 2023),
    (r"Apple M4", 2024),
)


def launch_year(device: str) -> int | None:
    """The year in which a device was launched; None if it is not in the table."""
    for pattern, year in YEARS:
        if re.search(pattern, device, re.IGNORECASE):
            return year
    return None


def system_of(record: Record) -> list[SystemDescription]:
    """The device of a bundle, with its year if that is known; its role is known beside others only."""
    try:
        environment = Environment.from_json(record.environment)
    except Deep500Error:
        return []
    for fact in ("accelerators", "cpu model"):
        value = environment.fact(COMPUTE, fact).value
        device = str(value)[:100]
        if value and device != "none found":
            system = SystemDescription(
                name="the machine", device=device, year=launch_year(device)
            )
            path = f"classes/{COMPUTE}/{fact}/value"
            return [system.at("environment.json", device=path, year=path)]
    return []
