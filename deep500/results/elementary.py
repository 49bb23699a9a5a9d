"""How exact elementary functions are on each framework: errors in units in the last place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..contracts.result import Record, ResultKind
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
from ..schema import optional

HEADERS = [
    "function",
    "dtype",
    "framework",
    "kernel",
    "largest error (ULP)",
    "at",
    "mean error (ULP)",
]
IN_CPP = "fixed C++"
UNFINISHED = "unfinished: the run was ended before all frameworks were measured"


@dataclass(frozen=True)
class ElementaryPlan:
    """Which functions were measured, and on how many arguments."""

    functions: Sequence[str]
    frameworks: Sequence[str]
    dtypes: Sequence[str]
    n: int
    seed: int
    kernels: Sequence[str] = optional(("own",))
    hashed: int = optional(0)


@dataclass(frozen=True)
class FunctionError:
    """The errors of one function in one dtype on one framework, in ULP; None is infinite."""

    at: str
    domain: str
    dtype: str
    framework: str
    function: str
    kernel: str
    largest: float | None
    mean: float | None
    n: int
    special: Sequence[str]  # wrong results at special points
    unsupported: str  # why it was not measured
    sha256: str = optional("")  # of the results for `hashed` numbers of all kinds
    hashed: int = optional(0)


@dataclass(frozen=True)
class FrameworkErrors:
    """A block: all functions on one framework."""

    framework: str
    rows: Sequence[FunctionError]


@dataclass(frozen=True)
class LargestError:
    """The function that a framework computes worst."""

    function: str
    dtype: str
    largest: float | None


@dataclass(frozen=True)
class ElementaryNumbers:
    """All rows in the order of the plan, and the worst of every framework."""

    rows: Sequence[FunctionError]
    largest: Mapping[str, LargestError]


ElementaryRecord = Record[ElementaryPlan, FrameworkErrors, ElementaryNumbers]


class Elementary(ResultKind[ElementaryPlan, FrameworkErrors, ElementaryNumbers]):
    """One block per framework: a row for every function and dtype."""

    def check_blocks(
        self, plan: ElementaryPlan, blocks: Sequence[object]
    ) -> list[FrameworkErrors]:
        checked = super().check_blocks(plan, blocks)
        for number, block in enumerate(checked):
            for row in block.rows:
                is_planned = row.function in plan.functions and row.dtype in plan.dtypes
                if not is_planned:
                    raise Deep500Error(
                        f"samples.jsonl: a row of block {number} was not planned"
                    )
        return checked

    def derive(
        self, plan: ElementaryPlan, blocks: Sequence[FrameworkErrors]
    ) -> ElementaryNumbers | None:
        rows = [row for block in blocks for row in block.rows]
        if not rows:
            return None
        functions = _positions(plan.functions)
        dtypes = _positions(plan.dtypes)
        rows.sort(key=lambda row: (functions[row.function], dtypes[row.dtype]))
        return ElementaryNumbers(rows, _largest(rows))

    def report(self, record: ElementaryRecord) -> Report:
        if record.derived is None:
            raise Deep500Error(
                f"{record.bundle} holds no rows yet: nothing was measured before it ended"
            )
        rows = record.derived.rows
        problems = [] if record.finished else [UNFINISHED]
        notes = Bullets(_notes(rows, record.plan.seed))
        blocks: list[Block] = [
            _banner(record.derived.largest),
            Problems(problems),
            Section("Errors", [_table(rows)], quiet=True),
            Section("Notes", [notes], quiet=True),
            raw_data(record.bundle, record.hash),
        ]
        return Report("Deep500 exactness", "Elementary functions", blocks)

    def numbers(self, record: ElementaryRecord) -> dict[str, object]:
        """Every row, with the unit of its errors."""
        return {
            "unit": "ULP",
            "largest": "of the sample: a lower bound",
            "seed": record.plan.seed,
            "rows": record.derived.rows if record.derived else [],
        }


def _positions(names: Sequence[str]) -> dict[str, int]:
    """The position of each name; of a name that is there twice, the first one."""
    positions: dict[str, int] = {}
    for number, name in enumerate(names):
        positions.setdefault(name, number)
    return positions


def _largest(rows: Sequence[FunctionError]) -> dict[str, LargestError]:
    """Per framework the row with the largest error; an error of None is infinite."""
    worst: dict[str, FunctionError] = {}
    for row in rows:
        if row.unsupported:
            continue
        so_far = worst.get(row.framework)
        if so_far is None or _error(row) > _error(so_far):
            worst[row.framework] = row
    largest = {}
    for framework, row in worst.items():
        largest[framework] = LargestError(row.function, row.dtype, row.largest)
    return largest


def _error(row: FunctionError) -> float:
    if row.largest is None:
        return float("inf")
    return row.largest


def _banner(largest: Mapping[str, LargestError]) -> Banner:
    if not largest:
        return Banner("Nothing could be measured.", "Nothing could be measured")
    errors = []
    for framework, row in largest.items():
        error = _ulp(row.largest)
        function = _function(row)
        errors.append(f"{clean(framework)} {error} ULP ({function})")
    headline = f"Largest errors: {'; '.join(errors)}"
    return Banner(f"{headline}.", headline)


def _function(row: FunctionError | LargestError) -> str:
    """The function and its dtype: exp in float32."""
    function = clean(row.function)
    dtype = clean(row.dtype)
    return f"{function} in {dtype}"


def _table(rows: Sequence[FunctionError]) -> Table:
    """Every function with its largest and mean error."""
    cells = []
    has_hashes = any(row.sha256 for row in rows)
    for row in rows:
        if row.unsupported:
            continue
        line = [
            clean(row.function),
            clean(row.dtype),
            clean(row.framework),
            clean(row.kernel),
            _ulp(row.largest),
            clean(row.at),
            _ulp(row.mean),
            str(row.n),
            clean(row.domain),
        ]
        if has_hashes:
            line.append(row.sha256[:12])
        cells.append(line)
    headers = [*HEADERS, "n", "domain"]
    if has_hashes:
        headers.append("SHA-256")
    return Table(headers, cells, "llllrlrrl" + "l" * has_hashes)


def _notes(rows: Sequence[FunctionError], seed: int) -> list[Text]:
    """What the numbers are; wrong results at special points and refusals, each with its frameworks."""
    frameworks_by_fault: dict[str, list[str]] = {}
    for row in rows:
        for fault in _faults(row):
            frameworks = frameworks_by_fault.setdefault(fault, [])
            frameworks.append(clean(row.framework))
    notes: list[Text] = [
        "The largest error is that of a sample (half uniform over the domain, half by the logarithm, "
        f"seed {seed}): a lower bound of the largest there is. 0.5 is correctly rounded; truth: mpmath."
    ]
    notes += _bits(rows)
    for fault, frameworks in frameworks_by_fault.items():
        subjects = ", ".join(frameworks)
        notes.append(f"{subjects}: {fault}")
    return notes


def _bits(rows: Sequence[FunctionError]) -> list[Text]:
    """For every function and implementation: on which frameworks its results have the same bits."""
    groups: dict[tuple[str, str, int], dict[str, list[str]]] = {}
    for row in rows:
        if row.sha256:
            is_fixed = row.kernel.startswith("fixed")
            kernel = "fixed" if is_fixed else "the frameworks' own"
            key = _function(row), kernel, row.hashed
            frameworks = groups.setdefault(key, {}).setdefault(row.sha256, [])
            name = clean(row.framework)
            frameworks.append(f"{name} in C++" if row.kernel == IN_CPP else name)
    notes: list[Text] = []
    for (function, kernel, hashed), by_hash in groups.items():
        alike = [", ".join(frameworks) for frameworks in by_hash.values()]
        verdict = f"{len(alike)} different results: {'; '.join(alike)}"
        if len(alike) == 1:
            verdict = f"the same bits on {alike[0]}"
        notes.append(f"{function} ({kernel}), {hashed} numbers: {verdict}")
    return notes


def _faults(row: FunctionError) -> list[str]:
    """Wrong results at special points, and the reason if the function was not measured."""
    function = _function(row)
    faults = [f"{function}: {clean(fault)}" for fault in row.special]
    if row.unsupported:
        reason = clean(row.unsupported)
        faults.append(f"{function} was not measured: {reason}")
    return faults


def _ulp(value: float | None) -> str:
    if value is None:
        return "infinite"
    if value < 1e4:
        return f"{value:.2f}"
    return f"{value:.2e}"
