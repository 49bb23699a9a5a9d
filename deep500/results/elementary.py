"""How exact elementary functions are on each framework: errors in units in the last place."""

from collections.abc import Sequence
from typing import Any

from ..contracts.result import Blocks, Plan, Record, ResultKind
from ..contracts.shapes import NUMBER, check_object
from ..errors import Deep500Error
from ..reports.blocks import Banner, Block, Bullets, Problems, Report, Section, Table
from ..reports.surroundings import raw_data
from ..reports.text import Text, clean

PLAN = {"functions": [str], "frameworks": [str], "dtypes": [str], "n": int, "seed": int}
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
        functions, dtypes = set(plan["functions"]), set(plan["dtypes"])
        for number, block in enumerate(blocks):
            part = check_object(f"samples.jsonl: block {number}", block, BLOCK)
            for row in part["rows"]:
                check_object(f"samples.jsonl: a row of block {number}", row, ROW)
                if row["function"] not in functions or row["dtype"] not in dtypes:
                    raise Deep500Error(
                        f"samples.jsonl: a row of block {number} was not planned"
                    )
            checked.append(part)
        return checked

    def derive(self, plan: Plan, blocks: Blocks) -> dict[str, Any] | None:
        rows: list[dict[str, Any]] = []
        for block in blocks:
            rows += block["rows"]
        if not rows:
            return None
        functions, dtypes = _positions(plan["functions"]), _positions(plan["dtypes"])
        rows.sort(key=lambda row: (functions[row["function"]], dtypes[row["dtype"]]))
        return {"rows": rows, "largest": _largest(rows)}

    def report(self, record: Record) -> Report:
        if record.derived is None:
            raise Deep500Error(
                f"{record.bundle} holds no rows yet: nothing was measured before it ended"
            )
        rows = record.derived["rows"]
        problems = [] if record.finished else [UNFINISHED]
        blocks: list[Block] = [
            _banner(record.derived["largest"]),
            Problems(problems),
            Section("Errors", [_table(rows)], quiet=True),
            Section("Notes", [Bullets(_notes(rows, record.plan["seed"]))], quiet=True),
            raw_data(record.bundle, record.hash),
        ]
        return Report("Deep500 exactness", "Elementary functions", blocks)

    def numbers(self, record: Record) -> dict[str, Any]:
        about = {
            "unit": "ULP",
            "largest": "of the sample: a lower bound",
            "seed": record.plan["seed"],
        }
        return about | {"rows": record.derived["rows"] if record.derived else []}


def _positions(names: Sequence[str]) -> dict[str, int]:
    """Where each name stands; of one that is there twice, the first place."""
    positions: dict[str, int] = {}
    for number, name in enumerate(names):
        positions.setdefault(name, number)
    return positions


def _largest(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Per framework the row with the largest error; an error of None is infinite."""
    worst: dict[str, dict[str, Any]] = {}
    for row in rows:
        known = worst.get(row["framework"])
        if not row["unsupported"] and (known is None or _error(row) > _error(known)):
            worst[row["framework"]] = row
    keys = ("function", "dtype", "largest")
    return {
        framework: {key: row[key] for key in keys} for framework, row in worst.items()
    }


def _error(row: dict[str, Any]) -> float:
    return float("inf") if row["largest"] is None else row["largest"]


def _banner(largest: dict[str, Any]) -> Banner:
    if not largest:
        return Banner("Nothing could be measured.", "Nothing could be measured")
    said = []
    for framework, row in largest.items():
        error, where = (
            _ulp(row["largest"]),
            f"{clean(row['function'])} in {clean(row['dtype'])}",
        )
        said.append(f"{clean(framework)} {error} ULP ({where})")
    headline = f"Largest errors: {'; '.join(said)}"
    return Banner(f"{headline}.", headline)


def _table(rows: Sequence[dict[str, Any]]) -> Table:
    """Every function with its largest and mean error."""
    cells: list[list[Text]] = []
    for row in rows:
        if row["unsupported"]:
            continue
        words = [
            clean(row[key]) for key in ("function", "dtype", "framework", "kernel")
        ]
        errors = [_ulp(row["largest"]), clean(row["at"]), _ulp(row["mean"])]
        cells.append([*words, *errors, str(row["n"]), clean(row["domain"])])
    return Table([*HEADERS, "n", "domain"], cells, "llllrlrrl")


def _notes(rows: Sequence[dict[str, Any]], seed: int) -> list[Text]:
    """What the numbers are; wrong results at special points and refusals, each with its frameworks."""
    said: dict[str, list[str]] = {}
    for row in rows:
        what = f"{clean(row['function'])} in {clean(row['dtype'])}"
        lines = [f"{what}: {clean(fault)}" for fault in row["special"]]
        if row["unsupported"]:
            lines.append(f"{what} was not measured: {clean(row['unsupported'])}")
        for line in lines:
            said.setdefault(line, []).append(clean(row["framework"]))
    introduction = (
        "The largest error is that of a sample (half uniform over the domain, half by the logarithm, "
        f"seed {seed}): a lower bound of the largest there is. 0.5 is correctly rounded; truth: mpmath."
    )
    return [
        introduction,
        *(f"{', '.join(names)}: {line}" for line, names in said.items()),
    ]


def _ulp(value: float | None) -> str:
    if value is None:
        return "infinite"
    return f"{value:.2f}" if value < 1e4 else f"{value:.2e}"
