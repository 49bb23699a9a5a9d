"""ONNX's own test suite on the installed frameworks: every verdict on every case."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..check.conformance import page
from ..check.conformance.verdicts import (
    GRADIENT,
    PASS,
    CaseName,
    CaseVerdict,
)
from ..contracts.result import Record, ResultKind
from ..errors import Deep500Error
from ..reports.blocks import (
    Banner,
    Block,
    PageOnly,
    Problems,
    Report,
    Section,
    Sentence,
    Table,
)
from ..reports.surroundings import environment_section, raw_data
from ..reports.text import clean

UNFINISHED = "unfinished: the run was ended before all columns were judged"


@dataclass(frozen=True)
class ConformancePlan:
    """Which cases were judged, and by which packages."""

    cases: Sequence[CaseName]
    columns: Sequence[str]
    versions: Mapping[str, str]


@dataclass(frozen=True)
class JudgedColumn:
    """A block: what one framework, or our derivatives, made of every case of the plan."""

    column: str
    words: Sequence[str]
    texts: Sequence[str]

    def __post_init__(self) -> None:
        if len(self.words) != len(self.texts):
            raise ValueError("as many words as texts")

    @property
    def verdicts(self) -> list[CaseVerdict]:
        pairs = zip(self.words, self.texts, strict=True)
        return [CaseVerdict(word, text) for word, text in pairs]


@dataclass(frozen=True)
class ConformanceNumbers:
    """How many cases of every column end in each word."""

    cases: int
    columns: Mapping[str, Mapping[str, int]]


ConformanceRecord = Record[ConformancePlan, JudgedColumn, ConformanceNumbers]


class Conformance(ResultKind[ConformancePlan, JudgedColumn, ConformanceNumbers]):
    """One block per column (a framework, or our derivatives): a word and a text for every case of the plan."""

    def check_blocks(
        self, plan: ConformancePlan, blocks: Sequence[object]
    ) -> list[JudgedColumn]:
        checked = super().check_blocks(plan, blocks)
        cases = len(plan.cases)
        for number, block in enumerate(checked):
            if len(block.words) != cases:
                raise Deep500Error(
                    f"samples.jsonl: block {number} does not fit the {cases} cases"
                )
        names = {block.column for block in checked}
        if len(names) < len(checked):
            raise Deep500Error("samples.jsonl: two blocks are of the same column")
        return checked

    def derive(
        self, plan: ConformancePlan, blocks: Sequence[JudgedColumn]
    ) -> ConformanceNumbers | None:
        if not blocks:
            return None
        columns = {block.column: dict(Counter(block.words)) for block in blocks}
        return ConformanceNumbers(len(plan.cases), columns)

    def report(self, record: ConformanceRecord) -> Report:
        if record.derived is None:
            raise Deep500Error(
                f"{record.bundle} holds no verdicts yet: nothing was judged before it ended"
            )
        cases = record.plan.cases
        verdicts = verdicts_of(record)
        problems = [] if record.finished else [UNFINISHED]
        kinds = _clean(page.kinds(cases, verdicts))
        blocks: list[Block] = [
            _banner(record.derived),
            Problems(problems),
            Section("Totals", [_clean(page.totals(verdicts))]),
            Section("Passes by kind of case", [kinds]),
        ]
        if GRADIENT in verdicts:
            derivatives = Sentence(_one_line(page.derivatives(verdicts)))
            blocks.append(Section("Derivatives", [derivatives]))
        operators = _clean(page.operators(cases, verdicts))
        by_operator: list[Block] = [Sentence(page.BY_OPERATOR), operators]
        failures = _clean(page.failures(cases, verdicts))
        reasons: list[Block] = []
        for column, table in page.reasons(verdicts).items():
            reasons.append(Section(clean(column), [_clean(table)]))
        blocks += [
            PageOnly([Section("By operator", by_operator)]),
            Section("Wrong results and errors", [failures]),
            PageOnly([Section("Why cases are unsupported", reasons)]),
            environment_section(record.environment),
            raw_data(record.bundle, record.hash),
        ]
        return Report("Deep500 conformance", "ONNX's test suite", blocks)


def verdicts_of(record: ConformanceRecord) -> dict[str, list[CaseVerdict]]:
    """The verdicts on all cases, by column."""
    return {block.column: block.verdicts for block in record.blocks}


def documentation_page(record: ConformanceRecord) -> str:
    """docs/conformance.md, from the bundle alone."""
    plan = record.plan
    return page.markdown(plan.cases, verdicts_of(record), plan.versions)


def _banner(numbers: ConformanceNumbers) -> Banner:
    passes = []
    for column, counts in numbers.columns.items():
        count = counts.get(PASS, 0)
        passes.append(f"{clean(column)} {count}")
    headline = f"Passes of {numbers.cases} cases: {', '.join(passes)}"
    return Banner(f"{headline}.", headline)


def _clean(table: Table) -> Table:
    """The table with clean texts: they may come from anyone."""
    headers = list(map(clean, table.headers))
    rows = []
    for row in table.rows:
        rows.append(list(map(clean, row)))
    return Table(headers, rows, table.align)


def _one_line(text: str) -> str:
    return " ".join(text.split())
