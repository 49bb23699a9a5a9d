"""CSV, JSON lines and Parquet: every sample with its levels, read back by other readers."""

import csv
import json
import math

import numpy as np
import pytest

from deep500 import cli
from deep500.contracts.sample_row import SampleRow
from deep500.exports.rows import level_columns
from deep500.measure.results import Result

from .conftest import GOLDEN

SAMPLED = ("bench", "recipe", "instrumented", "collective", "network", "suite")


def read_csv(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_times_of_a_benchmark_are_those_of_its_blocks(export, golden):
    record = golden("bench")
    rows = read_csv(export("bench", "csv"))
    result = Result(record.plan, record.blocks)
    for name in result.names:
        own = [row for row in rows if row["name"] == name and row["kept"] == "True"]
        by_process: dict[int, list[float]] = {}
        for row in own:
            values = by_process.setdefault(int(row["process"]), [])
            values.append(float(row["value"]))
        index = result.index(name)
        for number, values in by_process.items():
            expected = result.processes[number].seconds[index]
            assert np.sort(values) == pytest.approx(np.sort(expected), rel=1e-12)
    visits = sum(len(order) for block in record.blocks for order in block.orders)
    assert len(rows) == visits


def test_the_rows_of_a_recipe_are_its_steps_evaluations_and_ends(export, golden):
    record = golden("recipe")
    rows = read_csv(export("recipe", "csv"))
    losses = [row for row in rows if row["quantity"] == "loss"]
    steps = {(row["seed"], row["step"]) for row in losses}
    assert len(steps) == len(losses) > 0
    ends = [row for row in rows if row["quantity"] == "test accuracy"]
    assert {int(row["seed"]) for row in ends} == set(record.plan.seeds)
    assert {row["unit"] for row in ends} == {"%"}
    last = [row for row in rows if row["quantity"] == "validation accuracy"][-1]
    assert last["epoch"] == str(record.plan.epochs)


@pytest.mark.parametrize("name", SAMPLED)
def test_json_lines_hold_the_same_as_csv(name, export):
    rows = read_csv(export(name, "csv"))
    lines = export(name, "jsonl").read_text().splitlines()
    assert len(lines) == len(rows) > 0
    for line, row in zip(lines, rows, strict=True):
        document = json.loads(line)
        assert float(row["value"]) == document["value"]
        assert math.isfinite(document["value"])
        levels = {key: str(value) for key, value in document["levels"].items()}
        assert {key: row[key] for key in levels} == levels


def test_parquet_is_read_by_its_own_reader_and_by_duckdb(export):
    pyarrow = pytest.importorskip("pyarrow", reason="pip install pyarrow")
    from pyarrow import parquet

    rows = read_csv(export("bench", "csv"))
    path = export("bench", "parquet")
    table = parquet.read_table(path)
    assert table.num_rows == len(rows)
    assert table.schema.field("value").type == pyarrow.float64()
    assert table.column("value").to_pylist() == [float(row["value"]) for row in rows]
    assert b"deep500 bundle" in table.schema.metadata
    duckdb = pytest.importorskip("duckdb", reason="pip install duckdb")
    query = f"select count(*), sum(value) from '{path}'"
    [(count, total)] = duckdb.sql(query).fetchall()
    assert count == len(rows)
    assert total == pytest.approx(math.fsum(float(row["value"]) for row in rows))


def test_a_missing_package_is_named(export, monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    export("bench", "parquet", code=2)
    [line] = capsys.readouterr().err.splitlines()
    assert "pip install pyarrow" in line


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--to", "exel"], "does not know --to 'exel'"),
        (["--to", "csv", "--set", "a=1"], "no setting of --to csv is named 'a'"),
        (["--to", "csv", "--out", "/nowhere/x.csv"], "cannot be written"),
        (["--to", "mllog"], "is for the run of a recipe"),
    ],
)
def test_bad_input_is_one_line(options, message, capsys):
    assert cli.main(["export", str(GOLDEN / "bench.zip"), *options]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert message in line


def test_a_kind_without_samples_says_where_they_are(capsys, tmp_path):
    path = str(GOLDEN / "check.zip")
    out = str(tmp_path / "x.csv")
    assert cli.main(["export", path, "--to", "csv", "--out", out]) == 2
    assert "read samples.jsonl" in capsys.readouterr().err


def test_a_factor_that_is_called_as_a_column_gets_another_one():
    class Kind:
        def sample_rows(self, record):
            yield SampleRow("a", "time", "s", 1.0, {"value": 3, "n": 4})

    class Record:
        kind = Kind()

    columns = level_columns(Record())  # type: ignore[arg-type]
    assert columns == {"value": "level value", "n": "n"}
