"""Amounts of memory as users write them: 8, 64KiB, 1 MB, 2GiB."""

import re

UNITS = {
    "": 1,
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
}


def byte_count(text: str) -> int | None:
    """The bytes that a text names; None if it is no whole number with one of the units."""
    match = re.fullmatch(r"(\d{1,15})\s*([A-Za-z]*)", text.strip())
    unit = UNITS.get(match[2].upper()) if match else None
    if match is None or unit is None:
        return None
    return int(match[1]) * unit
