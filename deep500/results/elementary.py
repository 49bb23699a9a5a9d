"""How exact elementary functions are on each framework: errors in units in the last place."""

from collections.abc import Sequence
from typing import Any

from ..contracts.result import Blocks, Plan, Record, ResultKind
from ..contracts.shapes import NUMBER, check_object
from ..errors import Deep500Error
from ..reports.blocks import (
    Banner,
    Block,
    Bullets,
    Problems,
    Report,
    Section,
    Table,
)
from ..reports.surroundings import raw_data
from ..reports.text import Text, clean

Row = dict[str, Any]  # the errors of one function in one dtype on one framework
PLAN = {
    "functions": [str],
    "frameworks": [str],
    "dtypes": [str],
    "n": int,
    "seed": int,
}
BLOCK = {"framework": str, "rows": [dict]}
ROW = {
    "function": str,
    "framework": str,
    "kernel": str,
    "dtype": str,
    "domain": str,
    "n": int,
    "largest": (*NUMBER, type(None)),
    "at": str,
    "mean": (*NUMBER, type(None)),
    "special": [str],
    "unsupported": str,
}
HEADERS = [
    "function",
    "dtype",
    "framework",
    "kernel",
    "largest error (ULP)",
    "at",
    "mean error (ULP)",
]
UNFINISHED = "unfinished: the run was ended before all frameworks were measured"


class Elementary(ResultKind):
    """One block per framework: a row for every function and dtype. Derived: all rows in order, the worst of each."""

    def check_plan(self, plan: object) -> dict[str, Any]:
        return check_object("plan.json", plan, PLAN)

    def check_blocks(
        self, plan: Plan, blocks: Sequence[object]
    ) -> list[dict[str, Any]]:
        checked = []
        functions = set(plan["functions"])
        dtypes = set(plan["dtypes"])
        for number, block in enumerate(blocks):
            part = check_object(f"samples.jsonl: block {number}", block, BLOCK)
            where = f"samples.jsonl: a row of block {number}"
            for row in part["rows"]:
                check_object(where, row, ROW)
                if (
                    row["function"] not in functions
                    or row["dtype"] not in dtypes
                ):
                    raise Deep500Error(f"{where} was not planned")
            checked.append(part)
        return checked

    def derive(self, plan: Plan, blocks: Blocks) -> dict[str, Any] | None:
        rows = []
        for block in blocks:
            rows += block["rows"]
        if not rows:
            return None
        functions = _positions(plan["functions"])
        dtypes = _positions(plan["dtypes"])
        rows.sort(
            key=lambda row: (functions[row["function"]], dtypes[row["dtype"]])
        )
        return {"rows": rows, "largest": _largest(rows)}

    def report(self, record: Record) -> Report:
        if record.derived is None:
            raise Deep500Error(
                f"{record.bundle} holds no rows yet: nothing was measured before it ended"
            )
        rows = record.derived["rows"]
        problems = [] if record.finished else [UNFINISHED]
        notes = Bullets(_notes(rows, record.plan["seed"]))
        blocks: list[Block] = [
            _banner(record.derived["largest"]),
            Problems(problems),
            Section("Errors", [_table(rows)], quiet=True),
            Section("Notes", [notes], quiet=True),
            raw_data(record.bundle, record.hash),
        ]
        return Report("Deep500 exactness", "Elementary functions", blocks)

    def numbers(self, record: Record) -> dict[str, Any]:
        """Every row, with the unit of its errors."""
        rows = record.derived["rows"] if record.derived else []
        return {
            "unit": "ULP",
            "largest": "of the sample: a lower bound",
            "seed": record.plan["seed"],
            "rows": rows,
        }


def _positions(names: Sequence[str]) -> dict[str, int]:
    """The position of each name; of a name that is there twice, the first one."""
    positions: dict[str, int] = {}
    for number, name in enumerate(names):
        positions.setdefault(name, number)
    return positions


def _largest(rows: Sequence[Row]) -> dict[str, Any]:
    """Per framework the row with the largest error; an error of None is infinite."""
    worst: dict[str, Row] = {}
    for row in rows:
        if row["unsupported"]:
            continue
        so_far = worst.get(row["framework"])
        if so_far is None or _error(row) > _error(so_far):
            worst[row["framework"]] = row
    largest = {}
    for framework, row in worst.items():
        largest[framework] = {
            "function": row["function"],
            "dtype": row["dtype"],
            "largest": row["largest"],
        }
    return largest


def _error(row: Row) -> float:
    if row["largest"] is None:
        return float("inf")
    return row["largest"]


def _banner(largest: dict[str, Any]) -> Banner:
    if not largest:
        return Banner("Nothing could be measured.", "Nothing could be measured")
    errors = []
    for framework, row in largest.items():
        error = _ulp(row["largest"])
        function = _function(row)
        errors.append(f"{clean(framework)} {error} ULP ({function})")
    headline = f"Largest errors: {'; '.join(errors)}"
    return Banner(f"{headline}.", headline)


def _function(row: Row) -> str:
    """The function and its dtype: exp in float32."""
    function = clean(row["function"])
    dtype = clean(row["dtype"])
    return f"{function} in {dtype}"


def _table(rows: Sequence[Row]) -> Table:
    """Every function with its largest and mean error."""
    cells = []
    for row in rows:
        if row["unsupported"]:
            continue
        line = [
            clean(row["function"]),
            clean(row["dtype"]),
            clean(row["framework"]),
            clean(row["kernel"]),
            _ulp(row["largest"]),
            clean(row["at"]),
            _ulp(row["mean"]),
            str(row["n"]),
            clean(row["domain"]),
        ]
        cells.append(line)
    return Table([*HEADERS, "n", "domain"], cells, "llllrlrrl")


def _notes(rows: Sequence[Row], seed: int) -> list[Text]:
    """What the numbers are; wrong results at special points and refusals, each with its frameworks."""
    frameworks_by_fault: dict[str, list[str]] = {}
    for row in rows:
        for fault in _faults(row):
            frameworks = frameworks_by_fault.setdefault(fault, [])
            frameworks.append(clean(row["framework"]))
    notes: list[Text] = [
        "The largest error is that of a sample (half uniform over the domain, half by the logarithm, "
        f"seed {seed}): a lower bound of the largest there is. 0.5 is correctly rounded; truth: mpmath."
    ]
    for fault, frameworks in frameworks_by_fault.items():
        subjects = ", ".join(frameworks)
        notes.append(f"{subjects}: {fault}")
    return notes


def _faults(row: Row) -> list[str]:
    """Wrong results at special points, and the reason if the function was not measured."""
    function = _function(row)
    faults = [f"{function}: {clean(fault)}" for fault in row["special"]]
    if row["unsupported"]:
        reason = clean(row["unsupported"])
        faults.append(f"{function} was not measured: {reason}")
    return faults


def _ulp(value: float | None) -> str:
    if value is None:
        return "infinite"
    if value < 1e4:
        return f"{value:.2f}"
    return f"{value:.2e}"
