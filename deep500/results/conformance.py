"""ONNX's own test suite on the installed frameworks: every verdict on every case."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..check.conformance import page
from ..check.conformance.verdicts import (
    GRADIENT,
    PASS,
    CaseName,
    CaseVerdict,
)
from ..contracts.result import Blocks, Plan, Record, ResultKind
from ..contracts.shapes import check_object
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

PLAN = {"cases": [dict], "columns": [str], "versions": dict}
CASE = {"name": str, "kind": str, "operator": str}
BLOCK = {"column": str, "words": [str], "texts": [str]}
UNFINISHED = "unfinished: the run was ended before all columns were judged"


class Conformance(ResultKind):
    """One block per column (a framework, or our derivatives): a word and a text for every case of the plan."""

    def check_plan(self, plan: object) -> dict[str, Any]:
        checked = check_object("plan.json", plan, PLAN)
        for case in checked["cases"]:
            check_object("plan.json: a case", case, CASE)
        versions = checked["versions"]
        check_object("plan.json: versions", versions, dict.fromkeys(versions, str))
        return checked

    def check_blocks(
        self, plan: Plan, blocks: Sequence[object]
    ) -> list[dict[str, Any]]:
        cases = len(plan["cases"])
        checked = []
        for number, block in enumerate(blocks):
            where = f"samples.jsonl: block {number}"
            column = check_object(where, block, BLOCK)
            if not len(column["words"]) == len(column["texts"]) == cases:
                raise Deep500Error(f"{where} does not fit the {cases} cases")
            checked.append(column)
        names = {column["column"] for column in checked}
        if len(names) < len(checked):
            raise Deep500Error("samples.jsonl: two blocks are of the same column")
        return checked

    def derive(self, plan: Plan, blocks: Blocks) -> dict[str, Any] | None:
        if not blocks:
            return None
        columns: dict[str, dict[str, int]] = {}
        for block in blocks:
            columns[block["column"]] = dict(Counter(block["words"]))
        return {"cases": len(plan["cases"]), "columns": columns}

    def report(self, record: Record) -> Report:
        if record.derived is None:
            raise Deep500Error(
                f"{record.bundle} holds no verdicts yet: nothing was judged before it ended"
            )
        cases, verdicts = verdicts_of(record)
        problems = [] if record.finished else [UNFINISHED]
        kinds = _clean(page.kinds(cases, verdicts))
        blocks: list[Block] = [
            _banner(record),
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


def verdicts_of(
    record: Record,
) -> tuple[list[CaseName], dict[str, list[CaseVerdict]]]:
    """The cases, and the verdicts on all of them by column."""
    cases = []
    for case in record.plan["cases"]:
        name = CaseName(
            name=case["name"],
            kind=case["kind"],
            operator=case["operator"],
        )
        cases.append(name)
    verdicts = {}
    for block in record.blocks:
        pairs = zip(block["words"], block["texts"], strict=True)
        verdicts[block["column"]] = [CaseVerdict(word, text) for word, text in pairs]
    return cases, verdicts


def documentation_page(record: Record) -> str:
    """docs/conformance.md, from the bundle alone."""
    return page.markdown(*verdicts_of(record), record.plan["versions"])


def _banner(record: Record) -> Banner:
    derived = record.derived or {}
    passes = []
    for block in record.blocks:
        column = block["column"]
        count = derived["columns"][column].get(PASS, 0)
        passes.append(f"{clean(column)} {count}")
    headline = f"Passes of {derived['cases']} cases: {', '.join(passes)}"
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
