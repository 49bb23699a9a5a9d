"""The line of a claims file in which a key stands: tomllib does not say it."""

import re


def line_of(text: str, table: str, index: int, key: str) -> int | None:
    """The line of a key in the table of that number, or of the table itself; None if it is not found."""
    header = re.compile(rf"\s*\[\[?\s*[\"']?{re.escape(table)}[\"']?\s*\]\]?")
    any_header = re.compile(r"\s*\[")
    assignment = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=")
    seen = -1
    table_line = None
    for number, line in enumerate(text.splitlines(), 1):
        if header.match(line):
            seen += 1
            if seen == index:
                table_line = number
            continue
        if seen == index and table_line is not None:
            if key and assignment.match(line):
                return number
            if any_header.match(line):
                return table_line
    return table_line
