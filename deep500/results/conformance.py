"""ONNX's own test suite on the installed frameworks: every verdict on every case."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

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
from ..validation.conformance import page
from ..validation.conformance.verdicts import GRADIENT, PASS, CaseName, Verdict

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
        check_object(
            "plan.json: versions",
            checked["versions"],
            dict.fromkeys(checked["versions"], str),
        )
        return checked

    def check_blocks(
        self, plan: Plan, blocks: Sequence[object]
    ) -> list[dict[str, Any]]:
        checked, cases = [], len(plan["cases"])
        for number, block in enumerate(blocks):
            column = check_object(f"samples.jsonl: block {number}", block, BLOCK)
            if not len(column["words"]) == len(column["texts"]) == cases:
                raise Deep500Error(
                    f"samples.jsonl: block {number} does not fit the {cases} cases"
                )
            checked.append(column)
        if len({column["column"] for column in checked}) < len(checked):
            raise Deep500Error("samples.jsonl: two blocks are of the same column")
        return checked

    def derive(self, plan: Plan, blocks: Blocks) -> dict[str, Any] | None:
        if not blocks:
            return None
        columns: dict[str, dict[str, int]] = {
            block["column"]: dict(Counter(block["words"])) for block in blocks
        }
        return {"cases": len(plan["cases"]), "columns": columns}

    def report(self, record: Record) -> Report:
        if record.derived is None:
            raise Deep500Error(
                f"{record.bundle} holds no verdicts yet: nothing was judged before it ended"
            )
        cases, verdicts = verdicts_of(record)
        problems = [] if record.finished else [UNFINISHED]
        blocks: list[Block] = [_banner(record), Problems(problems)]
        blocks.append(Section("Totals", [_clean(page.totals(verdicts))]))
        blocks.append(
            Section("Passes by kind of case", [_clean(page.kinds(cases, verdicts))])
        )
        if GRADIENT in verdicts:
            blocks.append(
                Section(
                    "Derivatives", [Sentence(_one_line(page.derivatives(verdicts)))]
                )
            )
        operators: list[Block] = [
            Sentence(page.BY_OPERATOR),
            _clean(page.operators(cases, verdicts)),
        ]
        blocks.append(PageOnly([Section("By operator", operators)]))
        blocks.append(
            Section(
                "Wrong results and errors", [_clean(page.failures(cases, verdicts))]
            )
        )
        reasons: list[Block] = []
        for column, table in page.reasons(verdicts).items():
            reasons.append(Section(clean(column), [_clean(table)]))
        blocks.append(PageOnly([Section("Why cases are unsupported", reasons)]))
        blocks.append(environment_section(record.environment))
        blocks.append(raw_data(record.bundle, record.hash))
        return Report("Deep500 conformance", "ONNX's test suite", blocks)


def verdicts_of(record: Record) -> tuple[list[CaseName], dict[str, list[Verdict]]]:
    """The cases, and by column what became of each: what the page of the documentation is written from."""
    cases = [
        CaseName(**{key: case[key] for key in CASE}) for case in record.plan["cases"]
    ]
    verdicts = {}
    for block in record.blocks:
        pairs = zip(block["words"], block["texts"], strict=True)
        verdicts[block["column"]] = [Verdict(word, text) for word, text in pairs]
    return cases, verdicts


def documentation_page(record: Record) -> str:
    """docs/conformance.md, from the bundle alone."""
    return page.markdown(*verdicts_of(record), record.plan["versions"])


def _banner(record: Record) -> Banner:
    derived = record.derived or {}
    said = []
    for block in record.blocks:
        column = block["column"]
        said.append(f"{clean(column)} {derived['columns'][column].get(PASS, 0)}")
    headline = f"Passes of {derived['cases']} cases: {', '.join(said)}"
    return Banner(f"{headline}.", headline)


def _clean(table: Table) -> Table:
    """A table whose texts may come from anyone."""
    rows = []
    for row in table.rows:
        rows.append([clean(cell) for cell in row])
    return Table([clean(header) for header in table.headers], rows, table.align)


def _one_line(text: str) -> str:
    return " ".join(text.split())
