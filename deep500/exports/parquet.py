"""Apache Parquet, for DuckDB, Polars, pandas and Spark: the table of `csv`, with types."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..contracts.export_format import AnyRecord, ExportFormat, missing_package
from .rows import COMMON, cells, level_columns, sample_rows


class Parquet(ExportFormat):
    """Every raw value with its levels; a level of mixed types is a column of texts."""

    suffix = ".parquet"

    def write(
        self, record: AnyRecord, path: Path, settings: Mapping[str, Any]
    ) -> list[Path]:
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            raise missing_package("parquet", "pyarrow") from None
        columns = level_columns(record)
        rows = [cells(row, columns) for row in sample_rows(record)]
        table = {}
        for place, name in enumerate([*COMMON, *columns.values()]):
            table[name] = _of_one_type([row[place] for row in rows])
        about = {"deep500 bundle": str(record.hash)}
        arrow = pyarrow.table(table).replace_schema_metadata(about)
        parquet.write_table(arrow, str(path))
        return [path]


def _of_one_type(values: list[Any]) -> list[Any]:
    types = {type(value) for value in values if value is not None}
    if len(types) <= 1:
        return values
    if types == {int, float}:
        return [None if value is None else float(value) for value in values]
    return [None if value is None else str(value) for value in values]
