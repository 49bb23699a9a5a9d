"""The samples of a record as a table: the columns that all rows have, and one for each level."""

from collections.abc import Iterator

from ..contracts.export_format import AnyRecord
from ..contracts.sample_row import LevelId, SampleRow
from ..reports.text import clean

COMMON = ("name", "quantity", "unit", "value")


def sample_rows(record: AnyRecord) -> Iterator[SampleRow]:
    """Every raw value of the record; a Deep500Error for a kind that has none in a table."""
    return iter(record.kind.sample_rows(record))


def level_columns(record: AnyRecord) -> dict[str, str]:
    """The columns of the levels: the name of a level, and that of its column, which is no common one."""
    columns: dict[str, str] = {}
    for row in sample_rows(record):
        for level in row.levels:
            if level not in columns:
                taken = level in COMMON
                columns[level] = f"level {level}" if taken else clean(level)
    return columns


def cells(row: SampleRow, columns: dict[str, str]) -> list[LevelId | None]:
    """The row as cells: the common ones, then every level, None where it has none."""
    common: list[LevelId | None] = [
        clean(row.name),
        clean(row.quantity),
        row.unit,
        row.value,
    ]
    return common + [row.levels.get(level) for level in columns]
